-- Vouchers of lazy mints. Whether one was redeemed or revoked is told by the transactions that the rows name, and by who
-- holds the token.
CREATE TABLE nft_vouchers (
  mint_id       text PRIMARY KEY,
  wallet_id     text NOT NULL,
  chain_id      integer NOT NULL,
  contract      text NOT NULL,
  recipient     text,
  valid_until   timestamptz(3),
  signature     text,
  signed_at     timestamptz(3),
  revocation_id text,
  created_at    timestamptz(3) NOT NULL,
  version       integer NOT NULL
);
CREATE INDEX nft_vouchers_unsigned ON nft_vouchers (created_at) WHERE signature IS NULL;
SELECT create_put_function('nft_vouchers');

-- Changes of tokens of DYNAMIC collections, in the order in which they were accepted. `cid` is null in the one that freezes.
CREATE TABLE nft_token_updates (
  collection_id  text NOT NULL,
  token_id       bigint NOT NULL,
  sequence       integer NOT NULL,
  cid            text,
  transaction_id text NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (collection_id, token_id, sequence)
);
SELECT create_put_function('nft_token_updates');
