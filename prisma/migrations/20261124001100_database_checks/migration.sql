-- What a process relies on, however the database is configured and whatever was restored into it.

-- Versions -------------------------------------------------------------------------------------------------------------

-- Every migration of this database, and the oldest program that runs with it: named by the newest migration that it knows.
-- npm run migrate writes it; each process compares it with the migrations that it knows.
CREATE TABLE schema_versions (
  migration      text PRIMARY KEY,
  oldest_program text NOT NULL
);

-- Durability -----------------------------------------------------------------------------------------------------------

-- The commit of this transaction is on disk, and on the synchronous standby if there is one, before it is answered, whatever
-- synchronous_commit was set for the database or the role. Stronger settings stay.
CREATE FUNCTION be_durable() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') = 'off'
     OR (current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> '') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

CREATE FUNCTION be_durable_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM be_durable();
  RETURN NULL;
END $$;

-- Seeds and secrets, which other processes rely on as soon as they are written, and what the auditor has signed.
DO $body$
DECLARE
  written regclass;
BEGIN
  EXECUTE format('ALTER FUNCTION be_durable_trigger() SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION be_durable(), be_durable_trigger() FROM PUBLIC;
  FOREACH written IN ARRAY ARRAY['sealed_keys', 'webhook_secrets', 'audit_tree', 'audit_checkpoints']::regclass[]
  LOOP
    EXECUTE format('CREATE TRIGGER durable AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT EXECUTE FUNCTION be_durable_trigger()', written);
  END LOOP;
END $body$;

-- The lease ------------------------------------------------------------------------------------------------------------

-- As before, and durable: a fence that a crash took back would be given to two holders.
CREATE OR REPLACE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM be_durable();
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

-- The append -----------------------------------------------------------------------------------------------------------

-- Appends a batch of commits, all or nothing. `guards` holds arrays whose items name their commit by index:
--   fences      {commit, name, fence}                               the lease must still have this fence
--   idempotency {commit, tenant_id, key, fingerprint, resource_id}  the key must be new (or already name this resource)
--   holds       {commit, wallet_id, asset_id, delta, must_fit}      base units to hold back of a balance, checked and locked first
--   releases    the same, never refused: applied last, so that a long commit does not keep new requests waiting for the account
--   wallets     {commit, wallet_id, require}                        'active': not archived; 'idle': nothing pending
-- An event may name the hash of the event before it: the stream must have that one.
-- When guards refuse commits, nothing is changed and SQLSTATE BU001 reports in DETAIL which commits and why: the caller
-- answers those and sends the others again. A commit that is in the log already (an earlier try whose answer was lost)
-- is reported as 'appended_before'.
-- It runs as the owner of the tables, for sessions that may not write them: role_rights says what a session may append.
-- SQLSTATE BU002: the ids of this server are behind the log, so that what is appended now would be read before older events.
CREATE OR REPLACE FUNCTION append_commits(guards jsonb, new_events jsonb, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  unlimited CONSTANT boolean := pg_has_role(session_user, current_user, 'USAGE');
  may record;
  beyond text;
  refused jsonb[] := '{}';
  found_rows bigint;
  conflicts jsonb[];
  outdated jsonb[];
  stream_ids text[];
  stream_versions integer[];
  types text[];
  schema_versions integer[];
  all_data jsonb[];
  all_metadata jsonb[];
  times timestamptz[];
  hashes bytea[];
  environments text[];
  newest_id xid8;
BEGIN
  IF NOT unlimited THEN
    SELECT * INTO may FROM session_rights();
    PERFORM refuse_tables(guards, rows, may.tables);
  END IF;

  -- The comparison here costs less than the call.
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN PERFORM be_durable(); END IF;

  IF guards ? 'fences' THEN
    -- In the order of the names: LATERAL looks up and locks one row for each item, as it is once it is locked.
    SELECT coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'fence_lost', 'detail', jsonb_build_object('lease', x.name)))
             FILTER (WHERE l.fence IS DISTINCT FROM x.fence OR l.server_start <> pg_postmaster_start_time()), '{}')
      INTO refused
      FROM (SELECT * FROM jsonb_to_recordset(guards->'fences') AS f(commit integer, name text, fence bigint) ORDER BY f.name) AS x
      LEFT JOIN LATERAL (SELECT h.fence, h.server_start FROM leases h WHERE h.name = x.name FOR SHARE) AS l ON true;
  END IF;

  -- Sorted: one order for every writer, so that two of them never wait for each other's rows. LATERAL with OFFSET: one index
  -- look-up for each, whatever the statistics of a fast growing table say.
  SELECT array_agg(x.stream_id), array_agg(x.stream_version), array_agg(x.type), array_agg(x.schema_version), array_agg(x.data),
         array_agg(x.metadata), array_agg(x.recorded_at), array_agg(x.new_hash),
         array_agg(CASE WHEN x.stream_version > 1 AND (starts_with(x.stream_id, 'transaction-') OR starts_with(x.stream_id, 'balance-')) THEN p.environment
                        WHEN x.stream_version = 1 AND x.data->>'environment' IN ('mainnet', 'testnet') THEN x.data->>'environment' END),
         coalesce(array_agg(jsonb_build_object('commit', x.commit,
                      'outcome', CASE WHEN e.hash = x.new_hash THEN 'appended_before' ELSE 'stream_conflict' END,
                      'detail', jsonb_build_object('stream_id', x.stream_id))) FILTER (WHERE e.hash IS NOT NULL), '{}'),
         -- What the events of a stream were decided on must be what the stream has: a process may have read it before the
         -- database went back to an earlier state.
         coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'stream_conflict', 'detail', jsonb_build_object('stream_id', x.stream_id)))
                    FILTER (WHERE x.previous IS NOT NULL AND p.hash IS DISTINCT FROM decode(x.previous, 'hex')), '{}'),
         -- By the order of its index: for a comparison with all ids the planner would read the table.
         (SELECT newest.transaction_id FROM events newest ORDER BY newest.transaction_id DESC, newest.position DESC LIMIT 1)
    INTO stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes, environments, conflicts, outdated, newest_id
    FROM (SELECT n.*, decode(n.hash, 'hex') AS new_hash
            FROM jsonb_to_recordset(new_events) AS n(commit integer, stream_id text, stream_version integer, type text, schema_version integer,
                                                     data jsonb, metadata jsonb, recorded_at timestamptz, hash text, previous text)
           ORDER BY n.stream_id, n.stream_version) AS x
    LEFT JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version OFFSET 0) AS e ON true
    LEFT JOIN LATERAL (SELECT v.hash, v.environment FROM events v
                        WHERE x.previous IS NOT NULL AND v.stream_id = x.stream_id AND v.stream_version = x.stream_version - 1 OFFSET 0) AS p ON true;
  -- What a statement sees was written by ids below the end of its snapshot, unless pg_restore wrote it with those of another server.
  IF newest_id >= pg_snapshot_xmax(pg_current_snapshot()) AND newest_id IS DISTINCT FROM pg_current_xact_id_if_assigned() THEN
    RAISE EXCEPTION 'the transaction ids of this server are behind the event log: run npm run migrate' USING ERRCODE = 'BU002';
  END IF;
  refused := refused || conflicts || outdated;

  IF guards ? 'idempotency' THEN
    INSERT INTO idempotency_keys (tenant_id, key, fingerprint, resource_id)
      SELECT x.tenant_id, x.key, x.fingerprint, x.resource_id
        FROM jsonb_to_recordset(guards->'idempotency') AS x(tenant_id text, key text, fingerprint text, resource_id text)
       ORDER BY x.tenant_id, x.key
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows < jsonb_array_length(guards->'idempotency') THEN
      SELECT refused || coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'idempotent_replay',
                 'detail', jsonb_build_object('resource_id', k.resource_id, 'fingerprint', k.fingerprint))), '{}')
        INTO refused
        FROM jsonb_to_recordset(guards->'idempotency') AS x(commit integer, tenant_id text, key text, resource_id text)
       CROSS JOIN LATERAL (SELECT * FROM idempotency_keys i WHERE i.tenant_id = x.tenant_id AND i.key = x.key OFFSET 0) AS k
       WHERE k.resource_id <> x.resource_id;
    END IF;
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

  IF NOT unlimited THEN
    SELECT string_agg(named.name, ', ') INTO beyond
      FROM (SELECT DISTINCT split_part(x.stream_id, '-', 1) || ':' || x.type AS name FROM unnest(stream_ids, types) AS x(stream_id, type)) AS named
     WHERE named.name <> ALL (may.events);
    IF beyond IS NOT NULL THEN
      RAISE EXCEPTION 'the database user % may not append %', session_user, beyond USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF rows ? 'wallets' AND 'wallet:WalletCreated' <> ALL (may.events) THEN PERFORM refuse_new_keys(rows->'wallets'); END IF;
  END IF;

  INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment)
    SELECT * FROM unnest(stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes, environments);

  PERFORM put_rows(rows);

  IF guards ? 'releases' THEN PERFORM apply_holds(guards->'releases', '{}'); END IF;
END $$;

-- CREATE OR REPLACE takes these back.
DO $body$
DECLARE
  entry regprocedure;
BEGIN
  FOREACH entry IN ARRAY ARRAY['append_commits(jsonb, jsonb, jsonb)', 'acquire_lease(text, text, integer)']::regprocedure[]
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  END LOOP;
  ALTER FUNCTION append_commits(jsonb, jsonb, jsonb) SET lock_timeout = '1s';
END $body$;
