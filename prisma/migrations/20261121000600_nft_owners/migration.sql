-- Who holds which token of our collections, as the chain says.

-- A holder that gave everything away stays with amount 0, so that taking a block back finds its row.
CREATE TABLE nft_owners (
  chain_id      integer       NOT NULL,
  contract      text          NOT NULL,
  token_id      numeric(78,0) NOT NULL,
  owner         text          NOT NULL,
  amount        numeric(78,0) NOT NULL,
  block_number  bigint        NOT NULL,
  collection_id text          NOT NULL,
  PRIMARY KEY (chain_id, contract, token_id, owner)
);
CREATE INDEX nft_owners_of_wallet ON nft_owners (chain_id, owner, collection_id DESC, token_id DESC) WHERE amount > 0;
CREATE INDEX nft_owners_by_block ON nft_owners (chain_id, block_number);
SELECT create_put_function('nft_owners');

-- The follower looks for collections by the addresses that logs name.
CREATE INDEX nft_collections_by_log_address ON nft_collections (chain_id, lower(contract_address));

-- Transfers that were asked for here. Whether one came to pass is told by the transactions that its items name.
CREATE TABLE nft_transfers (
  transfer_id             text PRIMARY KEY,
  tenant_id               text NOT NULL,
  collection_id           text NOT NULL,
  wallet_id               text NOT NULL,
  network                 text NOT NULL,
  environment             text NOT NULL,
  from_address            text NOT NULL,
  transfer_type           text NOT NULL,
  warnings                jsonb NOT NULL,
  estimated_completion_at timestamptz(3) NOT NULL,
  created_at              timestamptz(3) NOT NULL,
  version                 integer NOT NULL
);
SELECT create_put_function('nft_transfers');

CREATE TABLE nft_transfer_items (
  transfer_id    text NOT NULL,
  item           integer NOT NULL,
  collection_id  text NOT NULL,
  token_id       numeric(78,0) NOT NULL,
  from_address   text NOT NULL,
  to_address     text NOT NULL,
  amount         numeric(78,0) NOT NULL,
  transaction_id text NOT NULL,
  sequence       integer NOT NULL,
  PRIMARY KEY (transfer_id, item)
);
-- Of two requests for the same token at the same moment one is refused, and then sees the other: none can promise what the
-- other one takes. Not the primary key: an append replaces the row of the same key.
CREATE UNIQUE INDEX nft_transfer_items_in_sequence ON nft_transfer_items (collection_id, token_id, from_address, sequence);
CREATE INDEX nft_transfer_items_of_transaction ON nft_transfer_items (transaction_id);
SELECT create_put_function('nft_transfer_items');
