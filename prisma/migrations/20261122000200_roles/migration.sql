-- A role for each process: what a database user may append, write and hold follows from the roles that it is a member of.
-- The roles, their grants and the rows of role_rights are made at every `npm run migrate`, from src/compose/database-roles/.

CREATE TABLE role_rights (
  role      text   PRIMARY KEY,
  -- `<category of the stream>:<type of the event>`
  events    text[] NOT NULL,
  -- Tables whose rows an append may carry.
  tables    text[] NOT NULL,
  -- Patterns of LIKE: names of leases, and names under which a process reports that it lives.
  leases    text[] NOT NULL,
  processes text[] NOT NULL
);

-- What the user of this session may do, over all roles of which it has the privileges. The owner of the tables, and whoever can
-- act as the owner, is not limited. To be called by functions that run as the owner: current_user is the owner then, and
-- session_user is who logged in, which no SET ROLE changes.
CREATE FUNCTION session_rights(OUT unlimited boolean, OUT events text[], OUT tables text[], OUT leases text[], OUT processes text[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  rights record;
BEGIN
  unlimited := pg_has_role(session_user, current_user, 'USAGE');
  events := '{}'; tables := '{}'; leases := '{}'; processes := '{}';
  IF unlimited THEN RETURN; END IF;
  FOR rights IN SELECT * FROM role_rights r WHERE pg_has_role(session_user, to_regrole(r.role), 'USAGE') LOOP
    events := events || rights.events;
    tables := tables || rights.tables;
    leases := leases || rights.leases;
    processes := processes || rights.processes;
  END LOOP;
END $$;

-- Refuses an append that names a table beyond those of the session.
CREATE FUNCTION refuse_tables(guards jsonb, rows jsonb, allowed text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  beyond text;
BEGIN
  SELECT string_agg(named.name, ', ' ORDER BY named.name) INTO beyond FROM (
      SELECT jsonb_object_keys(rows) AS name
       UNION ALL SELECT 'idempotency_keys' WHERE guards ? 'idempotency'
       UNION ALL SELECT 'wallet_holds' WHERE guards ? 'holds' OR guards ? 'releases') AS named
   WHERE named.name <> ALL (allowed);
  IF beyond IS NOT NULL THEN
    RAISE EXCEPTION 'the database user % may not write rows of %', session_user, beyond USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Refuses rows of wallets that give a wallet a key, or another owner or address to one that has a key. Money is sent with that key.
CREATE FUNCTION refuse_new_keys(wallet_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed text;
BEGIN
  SELECT x.wallet_id INTO changed
    FROM jsonb_to_recordset(wallet_rows) AS x(wallet_id text, tenant_id text, address text, key_ref jsonb)
    LEFT JOIN wallets w ON w.wallet_id = x.wallet_id
   WHERE x.key_ref IS DISTINCT FROM w.key_ref
      OR (w.key_ref IS NOT NULL AND (x.tenant_id IS DISTINCT FROM w.tenant_id OR x.address IS DISTINCT FROM w.address))
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the database user % may not change the key of %', session_user, changed USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Appends a batch of commits, all or nothing. `guards` holds arrays whose items name their commit by index:
--   fences      {commit, name, fence}                               the lease must still have this fence
--   idempotency {commit, tenant_id, key, fingerprint, resource_id}  the key must be new (or already name this resource)
--   holds       {commit, wallet_id, asset_id, delta, must_fit}      base units to hold back of a balance, checked and locked first
--   releases    the same, never refused: applied last, so that a long commit does not keep new requests waiting for the account
--   wallets     {commit, wallet_id, require}                        'active': not archived; 'idle': nothing pending
-- When guards refuse commits, nothing is changed and SQLSTATE BU001 tells in DETAIL which commits and why: the caller
-- answers those and sends the others again. A commit that is in the log already (an earlier try whose answer was lost)
-- is told as 'appended_before'.
-- It runs as the owner of the tables, on behalf of sessions that may not write them: what a session may append follows from
-- role_rights. The types are checked as they are inserted, so a batch is read no more often than before.
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
     WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = x.name AND l.fence = x.fence);
  END IF;

  SELECT refused || coalesce(array_agg(DISTINCT jsonb_build_object('commit', x.commit,
             'outcome', CASE WHEN e.hash = decode(x.hash, 'hex') THEN 'appended_before' ELSE 'stream_conflict' END,
             'detail', jsonb_build_object('stream_id', x.stream_id))), '{}')
    INTO refused
    FROM jsonb_to_recordset(new_events) AS x(commit integer, stream_id text, stream_version integer, hash text)
    -- LATERAL with OFFSET: one index look-up for each, whatever the statistics of a fast growing table say.
   CROSS JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version OFFSET 0) AS e;

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

-- Leases -------------------------------------------------------------------------------------------------------------

-- Refuses a lease that the session may not hold: whoever holds it keeps all others from the work.
CREATE FUNCTION refuse_lease(lease_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  may record;
BEGIN
  SELECT * INTO may FROM session_rights();
  IF NOT (may.unlimited OR lease_name LIKE ANY (may.leases)) THEN
    RAISE EXCEPTION 'the database user % may not hold the lease %', session_user, lease_name USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- A lease that ends later than any lease can was written before the database's clock was set back: it is as good as
-- expired. Else whoever died with it would keep it for as long as the clock was set back. Twice the time of a lease leaves
-- room for processes that are configured with different ones; the fence keeps the rest.
CREATE OR REPLACE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM refuse_lease(lease_name);
  INSERT INTO leases (name) VALUES (lease_name) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM leases WHERE name = lease_name FOR UPDATE;
  UPDATE leases SET holder = new_holder, fence = fence + 1, wanted = false,
                    expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name
     AND (holder IS NULL OR expires_at < clock_timestamp()
          OR expires_at > clock_timestamp() + 2 * lease_ms * interval '1 millisecond')
  RETURNING fence INTO taken;
  IF taken IS NULL THEN
    UPDATE leases SET wanted = true WHERE name = lease_name AND NOT wanted;
  END IF;
  RETURN taken;
END $$;

-- Keeps a lease for another `lease_ms`. False when it was lost. Does not wait for the disk: after a crash the lease ends sooner.
CREATE OR REPLACE FUNCTION renew_lease(lease_name text, held_fence bigint, lease_ms integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE leases SET expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name AND fence = held_fence AND holder IS NOT NULL;
  RETURN FOUND;
END $$;

-- Gives a lease back, unless somebody wanted it meanwhile: then the note is taken off, the lease stays with the holder,
-- and 'wanted' tells it to look for work once more. `force` gives it back whatever was noted. Does not wait for the disk:
-- after a crash the lease ends by itself.
CREATE OR REPLACE FUNCTION release_lease(lease_name text, held_fence bigint, force boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  was_wanted boolean;
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT wanted INTO was_wanted FROM leases WHERE name = lease_name AND fence = held_fence AND holder IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 'lost'; END IF;
  IF was_wanted AND NOT force THEN
    UPDATE leases SET wanted = false WHERE name = lease_name;
    RETURN 'wanted';
  END IF;
  UPDATE leases SET holder = NULL, expires_at = NULL, wanted = false WHERE name = lease_name;
  RETURN 'released';
END $$;

-- Heartbeats ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION refuse_process(process_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  may record;
BEGIN
  SELECT * INTO may FROM session_rights();
  IF NOT (may.unlimited OR process_name LIKE ANY (may.processes)) THEN
    RAISE EXCEPTION 'the database user % may not report as the process %', session_user, process_name USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Records that a process lives.
CREATE FUNCTION record_heartbeat(process_name text, instance_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_process(process_name);
  INSERT INTO heartbeats (process, instance, beat_at) VALUES (process_name, instance_name, clock_timestamp())
    ON CONFLICT (process, instance) DO UPDATE SET beat_at = excluded.beat_at;
END $$;

-- Removes the heartbeat of a process that ends, and those of processes that have been silent for an hour.
CREATE FUNCTION remove_heartbeat(process_name text, instance_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_process(process_name);
  DELETE FROM heartbeats
   WHERE (process = process_name AND instance = instance_name) OR beat_at < clock_timestamp() - interval '1 hour';
END $$;

-- These run as their owner. The path is fixed: else the session's own would decide which tables and functions they mean. Nobody
-- gets to call any function of this schema but by a grant.
DO $body$
DECLARE
  entry regprocedure;
BEGIN
  FOREACH entry IN ARRAY ARRAY['append_commits(jsonb, jsonb, jsonb)', 'acquire_lease(text, text, integer)', 'renew_lease(text, bigint, integer)',
                               'release_lease(text, bigint, boolean)', 'record_heartbeat(text, text)', 'remove_heartbeat(text, text)']::regprocedure[]
  LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', entry);
  END LOOP;
END $body$;
