-- Webhooks: where a tenant's events are sent.
CREATE TABLE webhooks (
  webhook_id      text PRIMARY KEY,
  tenant_id       text NOT NULL,
  environment     text NOT NULL,
  url             text NOT NULL,
  description     text,
  types           jsonb,
  wallet_ids      jsonb,
  payload         text NOT NULL,
  signatures      jsonb NOT NULL,
  public_key      text,
  -- Those that sign, newest first: names and ends.
  secrets         jsonb NOT NULL,
  status          text NOT NULL,
  disabled_reason text,
  created_at      timestamptz(3) NOT NULL,
  updated_at      timestamptz(3) NOT NULL,
  version         integer NOT NULL
);
CREATE INDEX webhooks_of_tenant ON webhooks (tenant_id, environment, webhook_id) WHERE status <> 'deleted';
SELECT create_put_function('webhooks');

-- Beside the log: secrets, sealed to the senders. They sign while the row of the webhook names them.
CREATE TABLE webhook_secrets (
  secret_id  text PRIMARY KEY,
  webhook_id text NOT NULL,
  sealed     text NOT NULL,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX webhook_secrets_of_webhook ON webhook_secrets (webhook_id);

-- Beside the log: what is to be sent, and what was sent. An event is delivered to a webhook once, and once more for each replay.
CREATE TABLE webhook_deliveries (
  delivery_id    text PRIMARY KEY,
  webhook_id     text NOT NULL,
  tenant_id      text NOT NULL,
  event_id       text NOT NULL,
  type           text NOT NULL,
  stream_id      text NOT NULL,
  transaction_id xid8 NOT NULL,
  position       bigint NOT NULL,
  part           integer NOT NULL,
  replay_id      text,
  state          text NOT NULL DEFAULT 'pending',
  attempts       integer NOT NULL DEFAULT 0,
  due_at         timestamptz(3) NOT NULL,
  created_at     timestamptz(3) NOT NULL,
  ended_at       timestamptz(3)
);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, event_id) WHERE replay_id IS NULL;
-- The next of each resource: only the first that is pending may be sent.
CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (webhook_id, stream_id, transaction_id, position, part) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_oldest ON webhook_deliveries (webhook_id, created_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id, delivery_id);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE state <> 'pending';

-- Beside the log: each attempt, for 30 days.
CREATE TABLE webhook_attempts (
  delivery_id text NOT NULL,
  attempt     integer NOT NULL,
  at          timestamptz(3) NOT NULL,
  outcome     text NOT NULL,
  status      integer,
  error       text,
  response    text NOT NULL,
  duration_ms integer NOT NULL,
  PRIMARY KEY (delivery_id, attempt)
);

-- Beside the log: how the receiver of a webhook does.
CREATE TABLE webhook_health (
  webhook_id    text PRIMARY KEY,
  -- Null while the last attempt succeeded.
  failing_since timestamptz(3),
  -- Failed rounds in a row, and until when nothing is sent after them.
  failures      integer NOT NULL DEFAULT 0,
  paused_until  timestamptz(3),
  succeeded_at  timestamptz(3),
  -- Deliveries that were given up after their last attempt.
  gaps          bigint NOT NULL DEFAULT 0
);
