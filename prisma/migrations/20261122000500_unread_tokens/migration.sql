-- Tokens whose contracts could not be read, and registrations that were taken back.

-- Beside the log: what nodes said of a contract, as prices are. A row says that balances of the token may be out of date
-- since then; it goes when all of them were read again. While `quarantined_at` is set, blocks are walked without reading it.
CREATE TABLE unread_tokens (
  chain_id       integer NOT NULL,
  contract       text NOT NULL,
  since          timestamptz(3) NOT NULL,
  reason         text NOT NULL,
  strikes        integer NOT NULL,
  quarantined_at timestamptz(3),
  retry_at       timestamptz(3) NOT NULL,
  attempts       integer NOT NULL DEFAULT 0,
  -- Grows with each read that failed or was left out: a row may go only if it stood still meanwhile.
  missed         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (chain_id, contract)
);
CREATE INDEX unread_tokens_due ON unread_tokens (chain_id, retry_at);

-- The reconciliation asks for what a tenant's wallets hold of tokens, some at a time.
CREATE INDEX balances_of_tokens_held ON balances (tenant_id, split_part(asset_id, '/', 1), wallet_id, asset_id)
  WHERE balance <> 0 AND asset_id LIKE '%/erc20:%';

-- Null while the tenant has the token.
ALTER TABLE assets ADD COLUMN removed_at timestamptz(3);
SELECT create_put_function('assets');
