-- Those that count for the quota of their tenant: the count does not read past all that were revoked or have expired.
CREATE INDEX api_keys_live ON api_keys (tenant_id) WHERE status = 'active';
