-- The replays of webhooks that were requested.
CREATE TABLE webhook_replays (
  replay_id    text PRIMARY KEY,
  webhook_id   text NOT NULL,
  tenant_id    text NOT NULL,
  environment  text NOT NULL,
  after        text,
  from_at      timestamptz(3),
  to_at        timestamptz(3),
  types        jsonb,
  only_failed  boolean NOT NULL,
  requested_at timestamptz(3) NOT NULL,
  -- Of the event that requested it: its place in the log is where the replay ends.
  version      integer NOT NULL
);
CREATE INDEX webhook_replays_of_webhook ON webhook_replays (webhook_id, replay_id);
CREATE INDEX webhook_replays_by_time ON webhook_replays (requested_at);
SELECT create_put_function('webhook_replays');

-- Beside the log: how far each replay is.
CREATE TABLE webhook_replay_progress (
  replay_id      text PRIMARY KEY,
  transaction_id xid8 NOT NULL,
  position       bigint NOT NULL,
  added          bigint NOT NULL DEFAULT 0,
  ended_at       timestamptz(3)
);

-- Deliveries that were given up, for lists and for replays of them.
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook_id, delivery_id) WHERE state = 'failed';
