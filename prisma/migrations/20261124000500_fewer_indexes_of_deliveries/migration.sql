-- A delivery costs a few writes of indexes instead of a dozen: its attempts are in its row, and each index that is left
-- has a query that nothing else serves.
ALTER TABLE webhook_deliveries ADD COLUMN attempt_list jsonb NOT NULL DEFAULT '[]';
UPDATE webhook_deliveries AS d SET attempt_list = made.list
  FROM (SELECT delivery_id, jsonb_agg(jsonb_build_object('attempt', attempt, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                 'outcome', outcome, 'status', status, 'error', error, 'response', response, 'duration_ms', duration_ms) ORDER BY attempt) AS list
          FROM webhook_attempts GROUP BY delivery_id) AS made
 WHERE made.delivery_id = d.delivery_id;
DROP TABLE webhook_attempts;

-- That an event is added once follows from the checkpoint, which is saved by the same statement.
DROP INDEX webhook_deliveries_once;
-- The primary key serves the lists of a webhook too, and its ids sort by time, which serves the removal of old rows.
DROP INDEX webhook_deliveries_of_webhook;
DROP INDEX webhook_deliveries_ended;
ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_pkey, ADD PRIMARY KEY (webhook_id, delivery_id);
-- Without an attempt a delivery is due. The few that failed before have an index of their own, by which they hold back
-- the later events of their resource.
DROP INDEX webhook_deliveries_in_order;
DROP INDEX webhook_deliveries_due;
DROP INDEX webhook_deliveries_next;
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (webhook_id, transaction_id, position, part) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, stream_id, transaction_id, position, part)
  WHERE state = 'pending' AND attempts > 0;
