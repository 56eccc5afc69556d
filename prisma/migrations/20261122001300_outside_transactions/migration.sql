-- Beside the log: what the chain follower saw. A row stands for a transaction that a wallet's address sent and that the log did
-- not know when its block was walked: another program sent it, or the log has forgotten it. A signer looks here before it signs
-- a request for the first time.
CREATE TABLE outside_transactions (
  chain_id     bigint NOT NULL,
  address      text NOT NULL,
  nonce        bigint NOT NULL,
  hash         text NOT NULL,
  -- Digest of recipient, value and call data.
  content      text NOT NULL,
  block_number bigint NOT NULL,
  block_time   timestamptz(3) NOT NULL,
  PRIMARY KEY (chain_id, address, nonce)
);
CREATE INDEX outside_transactions_by_content ON outside_transactions (chain_id, address, content);
SELECT create_put_function('outside_transactions');
