-- The table of idempotency keys becomes what the log says and no more, so that it can be made again and compared.

-- When a key was used, its event tells.
ALTER TABLE idempotency_keys DROP COLUMN created_at;

-- What the key of a cancellation or a speed-up stood for was in no event: from now on it is, and for the older ones it is the
-- transaction and the version at which it was asked for.
UPDATE idempotency_keys AS k SET resource_id = asked.resource_id
  FROM (SELECT DISTINCT ON (1, 2) e.metadata->>'tenantId' AS tenant_id, e.metadata->'idempotency'->>'key' AS key,
               substr(e.stream_id, length('transaction-') + 1) || ':' || e.stream_version AS resource_id
          FROM events AS e
         WHERE e.stream_id LIKE 'transaction-%' AND e.stream_version > 1
           AND e.metadata ? 'idempotency' AND NOT e.metadata->'idempotency' ? 'resourceId'
         ORDER BY 1, 2, e.stream_version) AS asked
 WHERE k.tenant_id = asked.tenant_id AND k.key = asked.key;
