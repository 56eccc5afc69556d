-- The events of a type of one tenant in one environment, in reading order: a reader of the feed that wants few types does not read past
-- all others. One number stands for the three, so that an entry has 32 bytes whatever their length; who reads compares them too.
CREATE INDEX events_by_type ON events (hashtextextended((metadata->>'tenantId') || ' ' || environment || ' ' || type, 0), transaction_id, position);
