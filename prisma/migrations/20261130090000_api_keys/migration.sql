-- API keys that their owners manage: what each holds by name, from where it may be used, and which key made or replaced it.

-- What `*` stood for before that was recorded: grantsBefore of scopes.ts.
CREATE FUNCTION grants_before(scopes text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN '*' = ANY (scopes) THEN known.by_star || array(
           SELECT s.name FROM unnest(scopes) WITH ORDINALITY AS s(name, n) WHERE s.name <> ALL (known.by_star) ORDER BY s.n)
         ELSE scopes END
    FROM (VALUES ('{*,wallets:read,wallets:write,transactions:read,transactions:write,signatures:read,signatures:write,assets:read,assets:write,nft:read,nft:write,recovery:read,recovery:write,audit:read,events:read,webhooks:read,webhooks:write}'::text[])) AS known(by_star)
$$;

ALTER TABLE api_keys
  ADD COLUMN grants         text[] NOT NULL DEFAULT '{}',
  ADD COLUMN ip_allowlist   text[] NOT NULL DEFAULT '{}',
  ADD COLUMN limits         jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN status         text NOT NULL DEFAULT 'active',
  ADD COLUMN expired_at     timestamptz(3),
  ADD COLUMN revoked_reason text,
  ADD COLUMN issued_by      text,
  ADD COLUMN rotated_from   text,
  ADD COLUMN rotated_to     text,
  ADD COLUMN updated_at     timestamptz(3);
UPDATE api_keys SET grants = grants_before(scopes), updated_at = coalesce(revoked_at, created_at),
                    status = CASE WHEN revoked_at IS NULL THEN 'active' ELSE 'revoked' END,
                    revoked_reason = CASE WHEN revoked_at IS NOT NULL THEN 'requested' END;
ALTER TABLE api_keys
  ALTER COLUMN grants DROP DEFAULT, ALTER COLUMN ip_allowlist DROP DEFAULT, ALTER COLUMN limits DROP DEFAULT,
  ALTER COLUMN status DROP DEFAULT, ALTER COLUMN updated_at SET NOT NULL;
SELECT create_put_function('api_keys');

DROP INDEX api_keys_of_tenant;
CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id, environment, key_id DESC);
CREATE INDEX api_keys_by_issuer ON api_keys (issued_by, key_id DESC) WHERE issued_by IS NOT NULL;
CREATE INDEX api_keys_to_expire ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND status = 'active';

-- Beside the log: on which day a key was used last. It would be an event a day and key, of which nothing follows.
CREATE TABLE api_key_uses (
  key_id       text PRIMARY KEY,
  last_used_on date NOT NULL
);

-- What a process may give away --------------------------------------------------------------------------------------------

-- A key as its events before those of this append say it. Nothing is read from its row, into which a process may have written
-- something else.
CREATE FUNCTION key_before(id text, stream_ids text[], stream_versions integer[],
                           OUT tenant_id text, OUT environment text, OUT grants text[], OUT ends_at timestamptz, OUT ranges cidr[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  e record;
  first_here CONSTANT integer := (SELECT min(s.version) FROM unnest(stream_ids, stream_versions) AS s(id, version) WHERE s.id = 'apikey-' || key_before.id);
BEGIN
  FOR e IN SELECT v.type, v.schema_version, v.data::jsonb AS data FROM events v
            WHERE v.stream_id = 'apikey-' || id AND (first_here IS NULL OR v.stream_version < first_here) ORDER BY v.stream_version LOOP
    CASE e.type
      WHEN 'ApiKeyIssued' THEN
        CONTINUE WHEN tenant_id IS NOT NULL;
        tenant_id := e.data->>'tenantId';
        environment := e.data->>'environment';
        grants := array(SELECT jsonb_array_elements_text(coalesce(e.data->'grants', e.data->'scopes')));
        IF e.schema_version = 1 THEN grants := grants_before(grants); END IF;
        ends_at := coalesce((e.data->>'expiresAt')::timestamptz, 'infinity');
        ranges := array(SELECT jsonb_array_elements_text(e.data->'ipAllowlist')::cidr);
      WHEN 'ApiKeyChanged' THEN
        grants := array(SELECT g FROM unnest(grants) AS g WHERE e.data->'grants' ? g);
        ends_at := least(ends_at, (e.data->>'expiresAt')::timestamptz);
        ranges := array(SELECT jsonb_array_elements_text(e.data->'ipAllowlist')::cidr);
      WHEN 'ApiKeyRotated' THEN ends_at := least(ends_at, (e.data->>'overlapEndsAt')::timestamptz);
      WHEN 'ApiKeyRevoked' THEN ends_at := '-infinity';
      ELSE NULL;
    END CASE;
  END LOOP;
END $$;

-- Whether each range is within one of the others; everywhere is no range.
CREATE FUNCTION are_within(ranges cidr[], others cidr[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT others = '{}' OR (ranges <> '{}' AND NOT EXISTS (
    SELECT FROM unnest(ranges) AS r WHERE NOT EXISTS (SELECT FROM unnest(others) AS o WHERE r <<= o)))
$$;

-- A key that an operator did not issue is made by a key of its tenant and environment that may make keys, and holds no more than that:
-- no other scope, no later end, no other address. Nor is one opened to other addresses by a key that could not make it. The maker is one
-- from before this append, and its row is locked: once it is revoked, it makes nothing.
CREATE FUNCTION refuse_keys(stream_ids text[], stream_versions integer[], types text[], all_data json[], all_metadata json[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  data jsonb;
  maker_id text;
  maker record;
  target record;
  ranges cidr[];
BEGIN
  IF coalesce(pg_has_role(session_user, to_regrole('bursar_operator'), 'USAGE'), false) THEN RETURN; END IF;
  FOR i IN 1..cardinality(types) LOOP
    CONTINUE WHEN types[i] NOT IN ('ApiKeyIssued', 'ApiKeyChanged') OR NOT starts_with(stream_ids[i], 'apikey-');
    data := all_data[i];
    maker_id := data->>CASE types[i] WHEN 'ApiKeyIssued' THEN 'issuedBy' ELSE 'changedBy' END;
    PERFORM FROM api_keys k WHERE k.key_id = maker_id FOR SHARE;
    maker := key_before(maker_id, stream_ids, stream_versions);
    ranges := array(SELECT jsonb_array_elements_text(data->'ipAllowlist')::cidr);
    target := NULL;
    IF types[i] = 'ApiKeyIssued' THEN
      SELECT data->>'tenantId' AS tenant_id, data->>'environment' AS environment, ranges AS ranges,
             array(SELECT jsonb_array_elements_text(data->'grants')) AS grants, coalesce((data->>'expiresAt')::timestamptz, 'infinity') AS ends_at
        INTO target;
    ELSE
      target := key_before(substr(stream_ids[i], length('apikey-') + 1), stream_ids, stream_versions);
    END IF;
    IF (maker.ends_at > clock_timestamp() AND 'api_keys:write' = ANY (maker.grants)
        AND target.tenant_id = maker.tenant_id AND target.environment = maker.environment
        AND all_metadata[i]->>'tenantId' = maker.tenant_id
        AND ((types[i] = 'ApiKeyChanged' AND are_within(ranges, target.ranges))
             OR (target.grants <@ maker.grants AND target.ends_at <= maker.ends_at AND are_within(ranges, maker.ranges)))) IS NOT TRUE THEN
      RAISE EXCEPTION 'the key % may not be made or opened by %', stream_ids[i], coalesce(maker_id, 'no key') USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
END $$;

-- As before, with the check of keys.
CREATE OR REPLACE FUNCTION refuse_foreign_rows(
  guards jsonb, rows jsonb, stream_ids text[], stream_versions integer[], types text[], all_data json[], all_metadata json[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  nothing text;
  item jsonb;
  sender jsonb;
  asked jsonb;
  at integer;
BEGIN
  -- An older snapshot would show older rows.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'append_commits needs the isolation level read committed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF 'MpcSharesRefreshRequested' = ANY (types) THEN PERFORM refuse_refresh(stream_ids, types, all_data::jsonb[]); END IF;
  IF types && '{ApiKeyIssued,ApiKeyChanged}' THEN PERFORM refuse_keys(stream_ids, stream_versions, types, all_data, all_metadata); END IF;
  nothing := refuse_transactions(guards, rows->'transactions', stream_ids, stream_versions, types, all_data, all_metadata);
  rows := rows - 'transactions';
  IF rows <> '{}' THEN PERFORM refuse_rows(guards, rows, stream_ids, stream_versions, types, all_metadata); END IF;
  -- The event that opened the resource names the request too: the table of keys is rebuilt from there.
  IF guards ? 'idempotency' THEN
    FOR n IN 0..jsonb_array_length(guards->'idempotency') - 1 LOOP
      item := guards->'idempotency'->n;
      at := array_position(stream_ids, 'transaction-' || (item->>'resource_id'));
      sender := all_metadata[at];
      asked := sender->'idempotency';
      CONTINUE WHEN asked->'key' = item->'key' AND asked->'fingerprint' = item->'fingerprint' AND NOT asked ? 'resourceId'
                AND sender->'tenantId' = item->'tenant_id';
      PERFORM FROM unnest(stream_ids, stream_versions, all_data::jsonb[], all_metadata::jsonb[]) AS e(stream_id, version, data, metadata)
        WHERE e.metadata->'idempotency'->'key' = item->'key' AND e.metadata->'tenantId' = item->'tenant_id'
          AND e.metadata->'idempotency'->'fingerprint' = item->'fingerprint'
          AND CASE WHEN e.metadata->'idempotency' ? 'resourceId' THEN e.metadata->'idempotency'->'resourceId' = item->'resource_id'
                   ELSE split_part(e.stream_id, '-', 1) || '-' || (item->>'resource_id') IN (e.stream_id, e.stream_id || ':' || e.version)
                     OR EXISTS (SELECT FROM jsonb_each(e.data) AS named WHERE named.value = item->'resource_id') END;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'a key of a request does not follow from the events of this append' USING ERRCODE = 'insufficient_privilege';
      END IF;
    END LOOP;
  END IF;
END $$;
