-- A delivery whose attempt its owner asked for is sent at once, whatever waits before it.
ALTER TABLE webhook_deliveries ADD COLUMN is_asked boolean NOT NULL DEFAULT false;
CREATE INDEX webhook_deliveries_asked ON webhook_deliveries (webhook_id)
  WHERE state = 'pending' AND (is_asked OR (type = 'webhook.test' AND attempts = 0));

-- Live events and replays are read apart from each other: neither reads past the other.
CREATE INDEX webhook_deliveries_live ON webhook_deliveries (webhook_id, transaction_id, position, part)
  WHERE state = 'pending' AND replay_id IS NULL;
CREATE INDEX webhook_deliveries_replayed ON webhook_deliveries (webhook_id, transaction_id, position, part)
  WHERE state = 'pending' AND replay_id IS NOT NULL;
DROP INDEX webhook_deliveries_next;

-- Deliveries that the receiver refused in a row, and the types of their events.
ALTER TABLE webhook_health ADD COLUMN refused integer NOT NULL DEFAULT 0;
ALTER TABLE webhook_health ADD COLUMN refused_types text[] NOT NULL DEFAULT '{}';
-- Until then replays are not looked at, because thousands wait behind one, or so many were refused in a row.
ALTER TABLE webhook_health ADD COLUMN replays_rest_until timestamptz(3);
ALTER TABLE webhook_health ADD COLUMN replays_refused integer NOT NULL DEFAULT 0;
