-- Joint keys of mpc wallets: which shares count. The shares themselves lie with the parties, never here.
CREATE TABLE mpc_keys (
  key_id       text PRIMARY KEY,
  wallet_id    text,
  tenant_id    text,
  public_key   text NOT NULL,
  address      text NOT NULL,
  threshold    integer NOT NULL,
  parties      integer NOT NULL,
  epoch        integer NOT NULL,
  attempt_id   text,
  banned       jsonb NOT NULL,
  open_refresh text,
  refreshed_at timestamptz(3) NOT NULL,
  asked_at     timestamptz(3),
  version      integer NOT NULL
);
-- One key for a wallet, and one wallet for a key.
CREATE UNIQUE INDEX mpc_keys_of_wallet ON mpc_keys (wallet_id);
CREATE INDEX mpc_keys_pool ON mpc_keys (threshold, parties, key_id) WHERE wallet_id IS NULL;
CREATE INDEX mpc_keys_by_age ON mpc_keys (refreshed_at) WHERE wallet_id IS NOT NULL AND open_refresh IS NULL;
CREATE INDEX mpc_keys_with_bans ON mpc_keys (key_id) WHERE banned <> '[]';
SELECT create_put_function('mpc_keys');

-- Each time that shares were made anew, or were to be.
CREATE TABLE mpc_refreshes (
  refresh_id   text PRIMARY KEY,
  key_id       text NOT NULL,
  reason       text NOT NULL,
  party        integer,
  status       text NOT NULL,
  epoch        integer NOT NULL,
  failure      jsonb,
  requested_at timestamptz(3) NOT NULL,
  ended_at     timestamptz(3)
);
CREATE INDEX mpc_refreshes_of_key ON mpc_refreshes (key_id, refresh_id DESC);
CREATE INDEX mpc_refreshes_open ON mpc_refreshes (requested_at) WHERE status = 'pending';
SELECT create_put_function('mpc_refreshes');

-- What an mpc wallet shows of its key.
ALTER TABLE wallets
  ADD COLUMN mpc        jsonb,
  ADD COLUMN public_key text;
SELECT create_put_function('wallets');
