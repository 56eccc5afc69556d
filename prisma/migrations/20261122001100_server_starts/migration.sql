-- A database that was restored from a backup, or taken over by a standby that lagged, has forgotten the newest events. Nobody acts
-- on what was read before it went back.

-- A lease ends with the start of the server under which it was taken. After a restart, a restore or a failover every holder
-- has to take it again, and then reads anew what it works on.
ALTER TABLE leases ADD COLUMN server_start timestamptz;

-- As before, and what a stream has must be what its new events were decided on.
CREATE OR REPLACE FUNCTION append_commits(guards jsonb, new_events jsonb, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  refused jsonb[] := '{}';
  may record;
  beyond text;
BEGIN
  SELECT * INTO may FROM session_rights();
  IF NOT may.unlimited THEN PERFORM refuse_tables(guards, rows, may.tables); END IF;

  IF guards ? 'fences' THEN
    PERFORM 1 FROM leases l WHERE l.name IN (SELECT x.name FROM jsonb_to_recordset(guards->'fences') AS x(name text))
      ORDER BY l.name FOR SHARE;
    SELECT refused || coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'fence_lost', 'detail', jsonb_build_object('lease', x.name))), '{}')
      INTO refused
      FROM jsonb_to_recordset(guards->'fences') AS x(commit integer, name text, fence bigint)
     WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = x.name AND l.fence = x.fence
                         AND (l.server_start IS NULL OR l.server_start = pg_postmaster_start_time()));
  END IF;

  SELECT refused || coalesce(array_agg(DISTINCT jsonb_build_object('commit', x.commit,
             'outcome', CASE WHEN e.hash = decode(x.hash, 'hex') THEN 'appended_before' ELSE 'stream_conflict' END,
             'detail', jsonb_build_object('stream_id', x.stream_id))), '{}')
    INTO refused
    FROM jsonb_to_recordset(new_events) AS x(commit integer, stream_id text, stream_version integer, hash text)
    -- LATERAL with OFFSET: one index look-up for each, whatever the statistics of a fast growing table say.
   CROSS JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version OFFSET 0) AS e;

  -- What the events of a stream were decided on must be what the stream has: a process may have read it before the database went
  -- back to an earlier state.
  SELECT refused || coalesce(array_agg(DISTINCT jsonb_build_object('commit', x.commit, 'outcome', 'stream_conflict',
             'detail', jsonb_build_object('stream_id', x.stream_id))), '{}')
    INTO refused
    FROM jsonb_to_recordset(new_events) AS x(commit integer, stream_id text, stream_version integer, previous text)
    LEFT JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version - 1 OFFSET 0) AS e ON true
   WHERE x.previous IS NOT NULL AND e.hash IS DISTINCT FROM decode(x.previous, 'hex');

  IF guards ? 'idempotency' THEN
    INSERT INTO idempotency_keys (tenant_id, key, fingerprint, resource_id)
      SELECT x.tenant_id, x.key, x.fingerprint, x.resource_id
        FROM jsonb_to_recordset(guards->'idempotency') AS x(tenant_id text, key text, fingerprint text, resource_id text)
       ORDER BY x.tenant_id, x.key
      ON CONFLICT DO NOTHING;
    SELECT refused || coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'idempotent_replay',
               'detail', jsonb_build_object('resource_id', k.resource_id, 'fingerprint', k.fingerprint))), '{}')
      INTO refused
      FROM jsonb_to_recordset(guards->'idempotency') AS x(commit integer, tenant_id text, key text, resource_id text)
     CROSS JOIN LATERAL (SELECT * FROM idempotency_keys i WHERE i.tenant_id = x.tenant_id AND i.key = x.key OFFSET 0) AS k
     WHERE k.resource_id <> x.resource_id;
  END IF;

  IF guards ? 'holds' THEN
    refused := refused || apply_holds(guards->'holds', (SELECT coalesce(array_agg((r->>'commit')::integer), '{}') FROM unnest(refused) AS r));
  END IF;

  -- After the holds: archiving locks them too, so that a wallet is seen here as it will be when this commits.
  IF guards ? 'wallets' THEN
    SELECT refused || coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'wallet_not_' || x.require,
               'detail', jsonb_build_object('wallet_id', x.wallet_id))), '{}')
      INTO refused
      FROM jsonb_to_recordset(guards->'wallets') AS x(commit integer, wallet_id text, require text)
     WHERE CASE x.require
             WHEN 'active' THEN NOT EXISTS (SELECT 1 FROM wallets w WHERE w.wallet_id = x.wallet_id AND w.status = 'active')
             ELSE EXISTS (SELECT 1 FROM wallet_holds h WHERE h.wallet_id = x.wallet_id AND h.held <> 0)
           END;
  END IF;

  IF cardinality(refused) > 0 THEN
    RAISE EXCEPTION 'commits refused' USING ERRCODE = 'BU001', DETAIL = to_jsonb(refused)::text;
  END IF;

  -- One order for every writer, so that two of them never wait for each other's rows.
  WITH added AS (
    INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
      SELECT x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at, decode(x.hash, 'hex')
        FROM jsonb_to_recordset(new_events) AS x(stream_id text, stream_version integer, type text, schema_version integer,
                                                 data jsonb, metadata jsonb, recorded_at timestamptz, hash text)
       ORDER BY x.stream_id, x.stream_version
    RETURNING stream_id, type)
  SELECT string_agg(named.name, ', ') INTO beyond
    FROM (SELECT DISTINCT split_part(added.stream_id, '-', 1) || ':' || added.type AS name FROM added WHERE NOT may.unlimited) AS named
   WHERE named.name <> ALL (may.events);
  IF beyond IS NOT NULL THEN
    RAISE EXCEPTION 'the database user % may not append %', session_user, beyond USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF rows ? 'wallets' AND NOT may.unlimited AND 'wallet:WalletCreated' <> ALL (may.events) THEN
    PERFORM refuse_new_keys(rows->'wallets');
  END IF;

  PERFORM put_rows(rows);

  IF guards ? 'releases' THEN PERFORM apply_holds(guards->'releases', '{}'); END IF;
END $$;

CREATE OR REPLACE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM refuse_lease(lease_name);
  INSERT INTO leases (name) VALUES (lease_name) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM leases WHERE name = lease_name FOR UPDATE;
  UPDATE leases SET holder = new_holder, fence = fence + 1, wanted = false, server_start = pg_postmaster_start_time(),
                    expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name
     AND (holder IS NULL OR expires_at < clock_timestamp() OR server_start <> pg_postmaster_start_time()
          OR expires_at > clock_timestamp() + 2 * lease_ms * interval '1 millisecond')
  RETURNING fence INTO taken;
  IF taken IS NULL THEN
    UPDATE leases SET wanted = true WHERE name = lease_name AND NOT wanted;
  END IF;
  RETURN taken;
END $$;

CREATE OR REPLACE FUNCTION renew_lease(lease_name text, held_fence bigint, lease_ms integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE leases SET expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name AND fence = held_fence AND holder IS NOT NULL
     AND (server_start IS NULL OR server_start = pg_postmaster_start_time());
  RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION release_lease(lease_name text, held_fence bigint, force boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  was_wanted boolean;
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT wanted INTO was_wanted FROM leases WHERE name = lease_name AND fence = held_fence AND holder IS NOT NULL
      AND (server_start IS NULL OR server_start = pg_postmaster_start_time()) FOR UPDATE;
  IF NOT FOUND THEN RETURN 'lost'; END IF;
  IF was_wanted AND NOT force THEN
    UPDATE leases SET wanted = false WHERE name = lease_name;
    RETURN 'wanted';
  END IF;
  UPDATE leases SET holder = NULL, expires_at = NULL, wanted = false WHERE name = lease_name;
  RETURN 'released';
END $$;

-- CREATE OR REPLACE takes these back.
DO $body$
DECLARE
  entry regprocedure;
BEGIN
  FOREACH entry IN ARRAY ARRAY['append_commits(jsonb, jsonb, jsonb)', 'acquire_lease(text, text, integer)', 'renew_lease(text, bigint, integer)',
                               'release_lease(text, bigint, boolean)']::regprocedure[]
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  END LOOP;
END $body$;
