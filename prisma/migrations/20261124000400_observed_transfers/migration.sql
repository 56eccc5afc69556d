-- Transfers to and from wallets that the follower observed, whoever sent them.
CREATE TABLE observed_transfers (
  transfer_id     text PRIMARY KEY,
  tenant_id       text NOT NULL,
  wallet_id       text NOT NULL,
  chain_id        integer NOT NULL,
  network         text NOT NULL,
  direction       text NOT NULL,
  status          text NOT NULL,
  hash            text NOT NULL,
  log_index       integer,
  counterparty    text,
  transaction_id  text,
  asset_id        text NOT NULL,
  asset_symbol    text NOT NULL,
  asset_decimals  integer NOT NULL,
  asset_contract  text,
  amount          numeric(78, 0) NOT NULL,
  valuation       jsonb,
  block_number    bigint NOT NULL,
  block_hash      text NOT NULL,
  block_timestamp timestamptz(3) NOT NULL,
  observed_at     timestamptz(3) NOT NULL,
  place           text NOT NULL,
  version         integer NOT NULL
);
-- The activity of a wallet, newest first.
CREATE INDEX transfers_of_wallet ON observed_transfers (wallet_id, place);
-- A reorg asks which transfers are above a block.
CREATE INDEX transfers_in_block ON observed_transfers (chain_id, block_number);
-- Each block asks which transfers have enough confirmations now: few of all that were ever observed.
CREATE INDEX transfers_to_confirm ON observed_transfers (chain_id, block_number) WHERE status = 'detected';
SELECT create_put_function('observed_transfers');
