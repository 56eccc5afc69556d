-- What one party of a joint key says of another is recorded and bans nobody: the two no longer sign together.
ALTER TABLE mpc_keys ADD COLUMN accusations JSONB NOT NULL DEFAULT '[]';
