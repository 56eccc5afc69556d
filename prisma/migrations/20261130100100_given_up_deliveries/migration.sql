-- That a delivery was given up is an event, once for the attempt after which it was. Those of earlier versions are not told of.
ALTER TABLE webhook_deliveries ADD COLUMN told_attempts integer NOT NULL DEFAULT 0;
UPDATE webhook_deliveries SET told_attempts = attempts WHERE state = 'failed';
CREATE INDEX webhook_deliveries_untold ON webhook_deliveries (webhook_id, delivery_id)
  WHERE state = 'failed' AND told_attempts < attempts AND type <> 'webhook.delivery_failed';
