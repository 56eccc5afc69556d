-- What one party of a joint key says of another is recorded and bans nobody: the two no longer sign together. A process of before
-- that still runs writes no such column.
ALTER TABLE mpc_keys ADD COLUMN accusations jsonb DEFAULT '[]';
SELECT create_put_function('mpc_keys');
