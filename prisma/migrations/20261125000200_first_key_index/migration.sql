-- Finds the first event that assigned an index of a tenant's seed, so that signers check that a wallet has the key that
-- its own stream names.
-- Oldest program: 20261124001300_fences_after_a_restore
CREATE INDEX events_key_indexes ON events (stream_id, (data->>'index'), stream_version) WHERE type = 'KeyIndexAllotted';
