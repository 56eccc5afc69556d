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
