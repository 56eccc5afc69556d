-- Quotes of swaps: what exchanges answered, for half a minute. The wallet is not a foreign key: a rebuild replaces its table.
CREATE TABLE swap_quotes (
  quote_id text PRIMARY KEY,
  tenant_id text NOT NULL,
  wallet_id text NOT NULL,
  quote jsonb NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX swap_quotes_expired ON swap_quotes (expires_at);
