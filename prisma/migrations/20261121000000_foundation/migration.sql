-- The event log, the read models that it feeds, and what processes agree on (leases, checkpoints).

-- The log ------------------------------------------------------------------------------------------------------------

CREATE TABLE events (
  position       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transaction_id xid8        NOT NULL DEFAULT pg_current_xact_id(),
  stream_id      text        NOT NULL,
  stream_version integer     NOT NULL CHECK (stream_version > 0),
  type           text        NOT NULL,
  schema_version integer     NOT NULL,
  data           jsonb       NOT NULL,
  metadata       jsonb       NOT NULL,
  recorded_at    timestamptz(3) NOT NULL,
  hash           bytea       NOT NULL,
  UNIQUE (stream_id, stream_version)
);
-- Readers take the log in this order: see read order in docs/event-log.md.
CREATE INDEX events_reading_order ON events (transaction_id, position);

CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the event log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse_log_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();
REVOKE UPDATE, DELETE, TRUNCATE ON events FROM PUBLIC, CURRENT_USER;

CREATE TABLE checkpoints (
  name           text        PRIMARY KEY,
  transaction_id xid8        NOT NULL,
  position       bigint      NOT NULL,
  updated_at     timestamptz(3) NOT NULL DEFAULT now()
);

-- What processes agree on --------------------------------------------------------------------------------------------

CREATE TABLE leases (
  name       text        PRIMARY KEY,
  holder     text,
  fence      bigint      NOT NULL DEFAULT 0,
  expires_at timestamptz(3),
  wanted     boolean     NOT NULL DEFAULT false
);

CREATE TABLE heartbeats (
  process  text        NOT NULL,
  instance text        NOT NULL,
  beat_at  timestamptz(3) NOT NULL,
  PRIMARY KEY (process, instance)
);

CREATE TABLE sealed_keys (
  tenant_id  text        NOT NULL,
  purpose    text        NOT NULL,
  envelope   jsonb       NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, purpose)
);

-- Read models --------------------------------------------------------------------------------------------------------

CREATE TABLE idempotency_keys (
  tenant_id   text        NOT NULL,
  key         text        NOT NULL,
  fingerprint text        NOT NULL,
  resource_id text        NOT NULL,
  created_at  timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, key)
);

CREATE TABLE wallets (
  wallet_id     text PRIMARY KEY,
  tenant_id     text NOT NULL,
  type          text NOT NULL,
  network       text NOT NULL,
  environment   text NOT NULL,
  chain_id      integer NOT NULL,
  address       text,
  label         text NOT NULL,
  external_id   text,
  status        text NOT NULL,
  key_ref       jsonb,
  notifications jsonb,
  failure       jsonb,
  created_at    timestamptz(3) NOT NULL,
  archived_at   timestamptz(3),
  version       integer NOT NULL
);
CREATE INDEX wallets_of_tenant ON wallets (tenant_id, wallet_id DESC);
CREATE INDEX wallets_by_address ON wallets (chain_id, lower(address));
CREATE UNIQUE INDEX wallets_address_once ON wallets (tenant_id, chain_id, address) WHERE status <> 'archived';
CREATE UNIQUE INDEX wallets_external_id_once ON wallets (tenant_id, external_id);
CREATE INDEX wallets_waiting_for_address ON wallets (created_at) WHERE status = 'requested';

CREATE TABLE transactions (
  transaction_id  text PRIMARY KEY,
  tenant_id       text NOT NULL,
  wallet_id       text NOT NULL,
  network         text NOT NULL,
  environment     text NOT NULL,
  chain_id        integer NOT NULL,
  type            text NOT NULL,
  state           text NOT NULL,
  status          text NOT NULL,
  from_address    text NOT NULL,
  to_address      text NOT NULL,
  asset_id        text NOT NULL,
  asset_symbol    text NOT NULL,
  asset_decimals  integer NOT NULL,
  asset_contract  text,
  amount          numeric(78,0) NOT NULL,
  gas_priority    text NOT NULL,
  nonce           bigint,
  hash            text,
  hashes          jsonb NOT NULL,
  block_number    bigint,
  block_hash      text,
  fee_estimated   numeric(78,0) NOT NULL,
  fee_actual      numeric(78,0),
  failure         jsonb,
  history         jsonb NOT NULL,
  attention       text,
  reference_id    text,
  memo            text,
  valid_until     timestamptz(3),
  estimated_completion_at timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL
);
CREATE INDEX transactions_of_wallet ON transactions (wallet_id, transaction_id DESC);
CREATE INDEX transactions_by_reference ON transactions (tenant_id, reference_id) WHERE reference_id IS NOT NULL;
-- A nonce of an account belongs to one transaction; replacements of it stay in the same row.
CREATE UNIQUE INDEX transactions_nonce_once ON transactions (chain_id, from_address, nonce);
CREATE INDEX transactions_waiting ON transactions (chain_id, from_address, transaction_id) WHERE state = 'requested';
CREATE INDEX transactions_to_submit ON transactions (chain_id, from_address, nonce)
  WHERE state IN ('signed', 'replaced', 'reorged', 'awaiting_funds');
CREATE INDEX transactions_attention ON transactions (chain_id, from_address) WHERE attention IS NOT NULL;
CREATE INDEX transactions_in_flight ON transactions (chain_id, from_address, nonce)
  WHERE state IN ('signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds');
CREATE INDEX transactions_in_block ON transactions (chain_id, block_number) WHERE block_number IS NOT NULL;
CREATE INDEX transactions_to_settle ON transactions (chain_id, block_number) WHERE state IN ('mined', 'cancelling');
CREATE INDEX transactions_unfinished ON transactions (updated_at)
  WHERE state IN ('requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds');

CREATE TABLE balances (
  wallet_id    text NOT NULL,
  asset_id     text NOT NULL,
  tenant_id    text NOT NULL,
  balance      numeric(78,0) NOT NULL,
  block_number bigint NOT NULL,
  block_hash   text NOT NULL,
  updated_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (wallet_id, asset_id)
);

CREATE TABLE wallet_holds (
  wallet_id text NOT NULL,
  asset_id  text NOT NULL,
  held      numeric(78,0) NOT NULL DEFAULT 0,
  PRIMARY KEY (wallet_id, asset_id)
);

CREATE TABLE api_keys (
  key_id      text PRIMARY KEY,
  tenant_id   text NOT NULL,
  environment text NOT NULL,
  label       text NOT NULL,
  digest      text NOT NULL UNIQUE,
  scopes      text[] NOT NULL,
  expires_at  timestamptz(3),
  revoked_at  timestamptz(3),
  created_at  timestamptz(3) NOT NULL,
  version     integer NOT NULL
);
CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id, key_id DESC);

CREATE TABLE assets (
  tenant_id        text NOT NULL,
  asset_id         text NOT NULL,
  network          text NOT NULL,
  environment      text NOT NULL,
  chain_id         integer NOT NULL,
  contract_address text NOT NULL,
  symbol           text NOT NULL,
  name             text NOT NULL,
  decimals         integer NOT NULL,
  created_at       timestamptz(3) NOT NULL,
  version          integer NOT NULL,
  PRIMARY KEY (tenant_id, asset_id)
);
CREATE INDEX assets_of_chain ON assets (chain_id, lower(contract_address));

-- What the follower remembers of the chains --------------------------------------------------------------------------

CREATE TABLE chain_blocks (
  chain_id    integer NOT NULL,
  number      bigint NOT NULL,
  hash        text NOT NULL,
  parent_hash text NOT NULL,
  timestamp   bigint NOT NULL,
  PRIMARY KEY (chain_id, number)
);

CREATE TABLE chain_cursors (
  chain_id   integer PRIMARY KEY,
  number     bigint NOT NULL,
  hash       text NOT NULL,
  head       bigint NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE prices (
  chain_id   integer NOT NULL,
  symbol     text NOT NULL,
  usd        numeric(38,18) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (chain_id, symbol)
);
