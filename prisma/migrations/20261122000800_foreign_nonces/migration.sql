-- Blocks in which others used nonces of our wallets. Beside the log: a row says where to look, and the block is the proof.
CREATE TABLE foreign_nonces (
  chain_id     bigint NOT NULL,
  address      text NOT NULL,
  nonce        bigint NOT NULL,
  block_number bigint NOT NULL,
  PRIMARY KEY (chain_id, address, nonce, block_number)
);
SELECT create_put_function('foreign_nonces');
