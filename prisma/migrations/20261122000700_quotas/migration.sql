-- What a tenant has of each quota is counted over an index of its own. Partial, so that it holds what counts and no more.
CREATE INDEX wallets_keyed_of_tenant ON wallets (tenant_id) WHERE type <> 'watch';
CREATE INDEX wallets_watched_of_tenant ON wallets (tenant_id) WHERE type = 'watch';
CREATE INDEX wallets_requested_of_tenant ON wallets (tenant_id) WHERE status = 'requested';
CREATE INDEX transactions_unfinished_of_tenant ON transactions (tenant_id)
  WHERE state IN ('requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds');
CREATE INDEX signatures_pending_of_tenant ON signatures (tenant_id) WHERE signature IS NULL;
