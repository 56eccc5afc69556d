-- When a replay last got further: a sender that begins one adds its row, so that it is carried out to its end.
ALTER TABLE webhook_replay_progress ADD COLUMN advanced_at timestamptz(3) NOT NULL DEFAULT now();
CREATE INDEX webhook_replay_progress_open ON webhook_replay_progress (replay_id) WHERE ended_at IS NULL;
