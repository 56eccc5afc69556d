-- PostgreSQL writes all indexes of a row anew when a column changes that any of them names, in its condition too. Each step of
-- a transaction changes `state` and `updated_at`, so no index names them: `status` and `block_number` tell the same apart.

DROP INDEX transactions_waiting, transactions_in_flight, transactions_unfinished, transactions_unfinished_of_tenant,
  transactions_to_settle, transactions_waiting_for;

-- In no block: requested, without a nonce, or in flight.
CREATE INDEX transactions_waiting ON transactions (chain_id, from_address, transaction_id)
  WHERE status = 'pending' AND block_number IS NULL AND nonce IS NULL;
CREATE INDEX transactions_in_flight ON transactions (chain_id, from_address, nonce)
  WHERE status = 'pending' AND block_number IS NULL AND nonce IS NOT NULL;
-- By the hash and not the number of the block: so no query of a lane fits this index, which the planner would take for it while
-- most rows belong to one lane.
CREATE INDEX transactions_unmined_of_tenant ON transactions (tenant_id) WHERE status = 'pending' AND block_hash IS NULL;
CREATE INDEX transactions_to_settle ON transactions (chain_id, block_number) WHERE status = 'pending' AND block_number IS NOT NULL;
CREATE INDEX transactions_waiting_for ON transactions (depends_on) WHERE depends_on IS NOT NULL;

-- Such a step needs room on the page of the row: a new row leaves room for it.
ALTER TABLE transactions SET (fillfactor = 60);
