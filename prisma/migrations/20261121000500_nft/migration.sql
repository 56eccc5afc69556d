-- Collections, mints and the tokens that the service gave numbers to. Whether a contract stands, and whether a token was
-- minted, is told by the transaction that the row names, and by nothing else.

CREATE TABLE nft_collections (
  collection_id     text PRIMARY KEY,
  tenant_id         text NOT NULL,
  wallet_id         text NOT NULL,
  network           text NOT NULL,
  environment       text NOT NULL,
  chain_id          integer NOT NULL,
  standard          text NOT NULL,
  collection_type   text NOT NULL,
  name              text NOT NULL,
  symbol            text NOT NULL,
  metadata          jsonb NOT NULL,
  cid               text NOT NULL,
  base_uri          text NOT NULL,
  royalty_bps       integer NOT NULL,
  royalty_recipient text,
  max_supply        bigint,
  transferable      boolean NOT NULL,
  owner_address     text NOT NULL,
  contract_address  text NOT NULL,
  transaction_id    text NOT NULL,
  created_at        timestamptz(3) NOT NULL,
  version           integer NOT NULL
);
CREATE INDEX nft_collections_of_tenant ON nft_collections (tenant_id, environment, collection_id DESC);
CREATE UNIQUE INDEX nft_collections_address_once ON nft_collections (chain_id, contract_address);
SELECT create_put_function('nft_collections');

CREATE TABLE nft_mints (
  mint_id       text PRIMARY KEY,
  tenant_id     text NOT NULL,
  collection_id text NOT NULL,
  minting_type  text NOT NULL,
  created_at    timestamptz(3) NOT NULL,
  version       integer NOT NULL
);
SELECT create_put_function('nft_mints');

-- `recipient` is null in a voucher that anybody may redeem, `transaction_id` until a transaction is to mint the token.
CREATE TABLE nft_tokens (
  mint_id        text NOT NULL,
  token_id       bigint NOT NULL,
  collection_id  text NOT NULL,
  transaction_id text,
  recipient      text,
  amount         numeric(78,0) NOT NULL,
  cid            text NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (mint_id, token_id)
);
-- No number is given twice, whichever process gives it. Not the primary key: an append replaces the row of the same key.
CREATE UNIQUE INDEX nft_tokens_id_once ON nft_tokens (collection_id, token_id);
SELECT create_put_function('nft_tokens');

-- Who deploys the first collection on a chain without the factory deploys that too, and the next one waits for it.
CREATE INDEX transactions_to_deployment_proxy ON transactions (chain_id, transaction_id)
  WHERE type = 'NFT_DEPLOY' AND to_address = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
