-- The next deliveries of a webhook are read in the order of the log, without sorting all that are pending. `due_at` has
-- a value in every row: the condition keeps the planner from this index where it asks for the first of one resource.
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (webhook_id, transaction_id, position, part)
  WHERE state = 'pending' AND due_at IS NOT NULL;
