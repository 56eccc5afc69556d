-- Signatures over messages and typed data that were asked for. What is signed stands in the log; the row has its digest.
CREATE TABLE signatures (
  signature_id text PRIMARY KEY,
  tenant_id    text NOT NULL,
  wallet_id    text NOT NULL,
  network      text NOT NULL,
  environment  text NOT NULL,
  chain_id     integer NOT NULL,
  type         text NOT NULL,
  address      text NOT NULL,
  digest       text NOT NULL,
  signature    text,
  signed_at    timestamptz(3),
  created_at   timestamptz(3) NOT NULL,
  version      integer NOT NULL
);
CREATE INDEX signatures_pending ON signatures (created_at) WHERE signature IS NULL;
SELECT create_put_function('signatures');
