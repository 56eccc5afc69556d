-- Of those that one tenant may have at once. A count for its quota does not read past all that were revoked or have expired.
CREATE INDEX api_keys_live ON api_keys (tenant_id) WHERE status = 'active';
