-- What reads of balances need beside their primary key.

-- A reorg asks which balances of a chain stand above a block; the chain is the first part of the asset's id (CAIP-19).
CREATE INDEX balances_by_block ON balances (split_part(asset_id, '/', 1), block_number);

-- The balance as it was known at a time: one step into the stream, however long it has grown.
CREATE INDEX events_balances_by_time ON events (stream_id, (data->'asset'->>'assetId'), recorded_at, stream_version)
  WHERE type IN ('BalanceChanged', 'BalanceReorged');
