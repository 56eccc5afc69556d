-- Exports of wallets' keys: what was asked for and what became of it, for ever.
CREATE TABLE wallet_exports (
  export_id    text PRIMARY KEY,
  tenant_id    text NOT NULL,
  wallet_id    text NOT NULL,
  environment  text NOT NULL,
  recipient    text NOT NULL,
  status       text NOT NULL,
  sha256       text,
  refusal      text,
  requested_at timestamptz(3) NOT NULL,
  exported_at  timestamptz(3),
  expires_at   timestamptz(3),
  version      integer NOT NULL
);
CREATE INDEX wallet_exports_waiting ON wallet_exports (requested_at) WHERE status = 'requested';
SELECT create_put_function('wallet_exports');

-- The sealed keys themselves, for an hour. In no event: one who gets the recipient's secret and this log years later must
-- not get the keys.
CREATE TABLE wallet_export_files (
  export_id  text PRIMARY KEY,
  ciphertext text NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX wallet_export_files_expired ON wallet_export_files (expires_at);
SELECT create_put_function('wallet_export_files');
