-- A delivery is sent with or without the data of its event as its webhook said at the place of the event in the log, whatever
-- is chosen later. Deliveries of earlier versions have none, and are sent as the webhook says now.
ALTER TABLE webhook_deliveries ADD COLUMN payload text CHECK (payload IN ('full', 'thin'));
