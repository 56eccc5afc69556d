-- Swaps: each uses its quote once, and those of a wallet that sell one token through one spender come one after the other.
CREATE TABLE swaps (
  swap_id text PRIMARY KEY,
  tenant_id text NOT NULL,
  wallet_id text NOT NULL,
  quote_id text NOT NULL,
  token text,
  spender text,
  sequence integer,
  transaction_id text NOT NULL,
  approval_ids jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL,
  version integer NOT NULL
);
CREATE UNIQUE INDEX swaps_quote_once ON swaps (quote_id);
-- Swaps without a spender have no sequence, and no order.
CREATE UNIQUE INDEX swaps_in_sequence ON swaps (wallet_id, token, spender, sequence);
SELECT create_put_function('swaps');

-- What a swap exchanges: null for all other transactions.
ALTER TABLE transactions ADD COLUMN swap jsonb;
SELECT create_put_function('transactions');
