-- What the log accepts is what its readers accept: each event continues its stream, and its hash is that of its stored bytes.

-- The log --------------------------------------------------------------------------------------------------------------

-- The text of a JSON column is stored as it was appended, so that its hash can be verified wherever it is read, and nothing is
-- parsed to be stored. This writes the table again. Rows from before keep what jsonb printed.
ALTER TABLE events ALTER COLUMN data TYPE json USING data::text::json, ALTER COLUMN metadata TYPE json USING metadata::text::json;
-- Not of an empty table, which the planner would expect to stay so.
DO $body$
BEGIN
  IF EXISTS (SELECT FROM events) THEN ANALYZE events; END IF;
END $body$;

CREATE OR REPLACE FUNCTION set_event_environment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Most events by far are later ones of these streams, which stay where they were opened: one look-up, and nothing of the data is read.
  IF NEW.stream_version > 1 AND (starts_with(NEW.stream_id, 'transaction-') OR starts_with(NEW.stream_id, 'balance-')) THEN
    SELECT e.environment INTO NEW.environment FROM events e WHERE e.stream_id = NEW.stream_id AND e.stream_version = 1;
    NEW.environment := coalesce(NEW.environment, 'mainnet');
  ELSE
    NEW.environment := environment_of_event(NEW.stream_id, NEW.data::jsonb);
  END IF;
  RETURN NEW;
END $$;

-- JSON that reads the same everywhere ----------------------------------------------------------------------------------

-- Whether no object has a member twice, of which some readers take the first and others the last, and no string a character
-- that PostgreSQL or UTF-8 cannot hold. For servers without IS JSON.
CREATE FUNCTION reads_alike_by_walk(value json) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  PERFORM value::jsonb;
  RETURN (
    WITH RECURSIVE nodes(node) AS (
      SELECT value
       UNION ALL
      SELECT below.node FROM nodes n CROSS JOIN LATERAL (
        SELECT m.value FROM json_each(CASE json_typeof(n.node) WHEN 'object' THEN n.node ELSE '{}' END) AS m
         UNION ALL SELECT i.value FROM json_array_elements(CASE json_typeof(n.node) WHEN 'array' THEN n.node ELSE '[]' END) AS i) AS below(node))
    SELECT bool_and((SELECT count(*) = count(DISTINCT k.name)
                       FROM json_object_keys(CASE json_typeof(n.node) WHEN 'object' THEN n.node ELSE '{}' END) AS k(name))) FROM nodes n);
EXCEPTION WHEN data_exception THEN
  RETURN false;
END $$;

DO $body$
BEGIN
  EXECUTE format('CREATE FUNCTION reads_alike(value json) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT %s $$',
    CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'reads_alike_by_walk(value)' ELSE 'value IS JSON WITH UNIQUE KEYS' END);
END $body$;

-- Hashes ---------------------------------------------------------------------------------------------------------------

-- What the hash of an event covers, as its readers build it from the stored row: eventText of hash-chain.ts.
CREATE FUNCTION event_text(stream_id text, stream_version integer, type text, schema_version integer, data json, metadata json,
                           recorded_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT '{"data":' || data::text || (',"metadata":' || metadata::text ||
    (',"recorded_at":"' || to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","schema_version":' || schema_version
      || ',"stream_id":' || to_json(stream_id) || ',"stream_version":' || stream_version || ',"type":' || to_json(type) || '}'))
$$;

-- The hash of an event with this text after one with the hash `previous`, which is empty before the first. STABLE as convert_to is,
-- so that PostgreSQL puts it into the statement that calls it: a call costs more than the hash.
CREATE FUNCTION event_hash(previous bytea, text text) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(encode(previous, 'hex') || E'\n' || text, 'UTF8'))
$$;

-- Rights ---------------------------------------------------------------------------------------------------------------

-- The newest schema version of each of `events`, of the program that migrated.
ALTER TABLE role_rights ADD COLUMN schema_versions integer[] NOT NULL DEFAULT '{}';

-- As before, with the schema versions. Most users have one role, whose arrays are taken as they are.
DROP FUNCTION session_rights();
CREATE FUNCTION session_rights(OUT unlimited boolean, OUT events text[], OUT schema_versions integer[], OUT tables text[], OUT leases text[],
                               OUT processes text[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  rights record;
BEGIN
  unlimited := pg_has_role(session_user, current_user, 'USAGE');
  events := '{}'; schema_versions := '{}'; tables := '{}'; leases := '{}'; processes := '{}';
  IF unlimited THEN RETURN; END IF;
  SELECT r.*, count(*) OVER () AS roles INTO rights FROM role_rights r WHERE pg_has_role(session_user, to_regrole(r.role), 'USAGE');
  IF rights.roles = 1 THEN
    events := rights.events; schema_versions := rights.schema_versions; tables := rights.tables; leases := rights.leases;
    processes := rights.processes;
    RETURN;
  END IF;
  FOR rights IN SELECT * FROM role_rights r WHERE pg_has_role(session_user, to_regrole(r.role), 'USAGE') LOOP
    events := events || rights.events;
    schema_versions := schema_versions || rights.schema_versions;
    tables := tables || rights.tables;
    leases := leases || rights.leases;
    processes := processes || rights.processes;
  END LOOP;
END $$;

-- As before, by expressions alone: a statement costs more.
CREATE OR REPLACE FUNCTION refuse_tables(guards jsonb, rows jsonb, allowed text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  beyond text;
BEGIN
  IF (rows - allowed = '{}' AND (NOT guards ? 'idempotency' OR 'idempotency_keys' = ANY (allowed))
      AND (NOT guards ?| '{holds,releases}' OR 'wallet_holds' = ANY (allowed))) THEN
    RETURN;
  END IF;
  SELECT string_agg(named.name, ', ' ORDER BY named.name) INTO beyond FROM (
      SELECT jsonb_object_keys(rows) AS name
       UNION ALL SELECT 'idempotency_keys' WHERE guards ? 'idempotency'
       UNION ALL SELECT 'wallet_holds' WHERE guards ?| '{holds,releases}') AS named
   WHERE named.name <> ALL (allowed);
  RAISE EXCEPTION 'the database user % may not write rows of %', session_user, beyond USING ERRCODE = 'insufficient_privilege';
END $$;

-- The append -----------------------------------------------------------------------------------------------------------

-- Holds or releases what the only item of `holds` says, as apply_holds does, by two statements: the first locks the account, and the
-- second sees the balance as of the lock. False, and nothing is changed, if there are more items, the account is new, or it does not fit.
CREATE FUNCTION apply_only_hold(holds jsonb) RETURNS boolean LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  item CONSTANT jsonb := holds->0;
BEGIN
  IF jsonb_array_length(holds) <> 1 THEN RETURN false; END IF;
  PERFORM FROM wallet_holds h WHERE h.wallet_id = item->>'wallet_id' AND h.asset_id = item->>'asset_id' FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE wallet_holds h SET held = h.held + (item->>'delta')::numeric
   WHERE h.wallet_id = item->>'wallet_id' AND h.asset_id = item->>'asset_id' AND (item->>'delta')::numeric <> 0
     AND (NOT (item->>'must_fit')::boolean OR h.held + greatest((item->>'delta')::numeric, 0) <= coalesce(
           (SELECT b.balance FROM balances b WHERE b.wallet_id = item->>'wallet_id' AND b.asset_id = item->>'asset_id'), 0));
  RETURN FOUND;
END $$;

-- Until when a transaction may be signed; null for any time.
CREATE FUNCTION deadline_of(id text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
  deadline timestamptz;
BEGIN
  SELECT t.valid_until INTO deadline FROM transactions t WHERE t.transaction_id = id;
  IF NOT FOUND THEN
    SELECT (e.data->>'validUntil')::timestamptz INTO deadline FROM events e WHERE e.stream_id = 'transaction-' || id AND e.stream_version = 1;
  END IF;
  RETURN deadline;
END $$;

-- A refusal for each commit with a signature of a transaction that is no longer valid, unless it is refused for another reason.
CREATE FUNCTION late_signatures(deadlines jsonb, already_refused jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE
  late jsonb := '[]';
BEGIN
  FOR n IN 0..jsonb_array_length(deadlines) - 1 LOOP
    IF deadline_of(deadlines->n->>'transaction_id') <= clock_timestamp() THEN late := late || (deadlines->n); END IF;
  END LOOP;
  IF late = '[]' THEN RETURN '{}'; END IF;
  RETURN array(
    SELECT jsonb_build_object('commit', x.commit, 'outcome', 'deadline_missed',
                              'detail', jsonb_build_object('transaction_ids', string_agg(x.transaction_id, ' ')))
      FROM jsonb_to_recordset(late) AS x(commit integer, transaction_id text)
     WHERE x.commit <> ALL (SELECT (r->>'commit')::integer FROM unnest(already_refused) AS r)
     GROUP BY x.commit);
END $$;

DROP FUNCTION append_commits(jsonb, jsonb, jsonb);

-- Appends a batch of commits, all or nothing. `guards` holds arrays whose items name their commit by index:
--   fences      {commit, name, fence}                               the lease must still have this fence
--   idempotency {commit, tenant_id, key, fingerprint, resource_id}  the key must be new (or already name this resource)
--   holds       {commit, wallet_id, asset_id, delta, must_fit}      base units to hold back of a balance, checked and locked first
--   releases    the same, never refused: applied last, so that a long commit does not keep new requests waiting for the account
--   deadlines   {commit, transaction_id}                            it is signed here, and must still be valid then
--   wallets     {commit, wallet_id, require}                        'active': not archived; 'idle': nothing pending
-- The events of a commit in one stream have consecutive versions. The first of them names the hash of the event before it,
-- unless the stream is new: the stream must have that one.
-- When guards refuse commits, nothing is changed and SQLSTATE BU001 reports in DETAIL which commits and why: the caller
-- answers those and sends the others again. A commit that is in the log already (an earlier try whose answer was lost)
-- is reported as 'appended_before'.
-- It runs as the owner of the tables, for sessions that may not write them: role_rights says what a session may append.
-- SQLSTATE BU002: the ids of this server are behind the log, so that what is appended now would be read before older events.
-- SQLSTATE BU003: an event does not follow another, or its hash is not that of its content, as hash-chain.ts computes it.
CREATE FUNCTION append_commits(guards jsonb, new_events json, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  may record;
  -- Of a function that returns nothing: an assignment costs a fraction of PERFORM.
  nothing text;
  category text := '';
  checked text := '';
  checked_version integer;
  refused jsonb[] := '{}';
  found_rows bigint;
  conflicts jsonb[];
  outdated jsonb[];
  forged text;
  commits integer[];
  followers boolean[];
  stream_ids text[];
  stream_versions integer[];
  types text[];
  schema_versions integer[];
  all_data json[];
  all_metadata json[];
  times timestamptz[];
  hashes bytea[];
  environments text[];
  newest_id xid8;
BEGIN
  may := session_rights();
  IF NOT may.unlimited THEN
    nothing := refuse_tables(guards, rows, may.tables);
    -- Before their rows are locked: an append of many events takes seconds until the last check.
    IF guards ? 'fences' THEN nothing := refuse_leases(guards, may.leases); END IF;
  END IF;

  IF NOT reads_alike(new_events) THEN
    RAISE EXCEPTION 'the events are not JSON that every reader reads alike' USING ERRCODE = 'invalid_text_representation';
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
         array_agg(CASE -- Of a mint, its collection's, as environment_of_event says of events that name none and no wallet.
                        WHEN x.stream_version = 1 AND starts_with(x.stream_id, 'mint-')
                             AND x.data->'environment' IS NULL AND x.data->'walletId' IS NULL THEN
                          (SELECT v.environment FROM events v WHERE v.stream_id = 'collection-' || (x.data->>'collectionId') AND v.stream_version = 1)
                        WHEN x.stream_version = 1 THEN
                          -- Every opening of a transaction names its environment: parsed only if the data name both.
                          CASE WHEN starts_with(x.stream_id, 'transaction-') AND strpos(x.hashed, '"environment":"testnet"') = 0
                                    AND strpos(x.hashed, '"environment":"mainnet"') > 0 THEN 'mainnet'
                               ELSE CASE x.data->>'environment' WHEN 'mainnet' THEN 'mainnet' WHEN 'testnet' THEN 'testnet' END END
                        WHEN starts_with(x.stream_id, 'transaction-') OR starts_with(x.stream_id, 'balance-') THEN p.environment END),
         coalesce(array_agg(jsonb_build_object('commit', x.commit,
                      'outcome', CASE WHEN e.hash = x.new_hash THEN 'appended_before' ELSE 'stream_conflict' END,
                      'detail', jsonb_build_object('stream_id', x.stream_id))) FILTER (WHERE e.hash IS NOT NULL), '{}'),
         -- What the events of a stream were decided on must be what the stream has: a process may have read it before the
         -- database went back to an earlier state.
         coalesce(array_agg(jsonb_build_object('commit', x.commit, 'outcome', 'stream_conflict', 'detail', jsonb_build_object('stream_id', x.stream_id)))
                    FILTER (WHERE x.previous IS NOT NULL AND p.hash IS DISTINCT FROM x.before), '{}'),
         -- A line feed would end the line of an export. Each reader has to hold an event in memory, with its text and its hash: at
         -- most 32 MiB, twice what a request may have. Those that follow an event of this call are compared below.
         string_agg(x.stream_id || ' version ' || x.stream_version, ', ') FILTER (WHERE NOT coalesce(
             x.stream_version > 0 AND json_typeof(x.data) = 'object' AND json_typeof(x.metadata) = 'object'
             AND x.recorded_at >= '1970-01-01Z' AND x.recorded_at < '9999-12-31Z' AND octet_length(x.hashed) <= 33554432 AND strpos(x.hashed, E'\n') = 0 AND strpos(x.hashed, E'\r') = 0
             AND (x.follows OR x.new_hash = event_hash(x.before, x.hashed)), false)),
         array_agg(x.commit), array_agg(x.follows),
         -- By the order of its index: for a comparison with all ids the planner would read the table.
         (SELECT newest.transaction_id FROM events newest ORDER BY newest.transaction_id DESC, newest.position DESC LIMIT 1)
    INTO stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes, environments, conflicts, outdated, forged, commits, followers,
         newest_id
    FROM (SELECT n.*, decode(n.hash, 'hex') AS new_hash, n.stream_version > 1 AND n.previous IS NULL AS follows,
                 event_text(n.stream_id, n.stream_version, n.type, n.schema_version, n.data, n.metadata, n.recorded_at) AS hashed,
                 CASE WHEN n.stream_version > 1 THEN decode(n.previous, 'hex') WHEN n.previous IS NULL THEN ''::bytea END AS before
            FROM json_to_recordset(new_events) AS n(commit integer, stream_id text, stream_version integer, type text, schema_version integer,
                                                    data json, metadata json, recorded_at timestamptz(3), hash text, previous text)
           ORDER BY n.stream_id, n.commit, n.stream_version) AS x
    LEFT JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version OFFSET 0) AS e ON true
    LEFT JOIN LATERAL (SELECT v.hash, v.environment FROM events v
                        WHERE x.previous IS NOT NULL AND v.stream_id = x.stream_id AND v.stream_version = x.stream_version - 1 OFFSET 0) AS p ON true;
  IF true = ANY (followers) AND forged IS NULL THEN
    SELECT string_agg(x.stream_id || ' version ' || x.stream_version, ', ') INTO forged
      FROM (SELECT u.*, lag(u.stream_version) OVER in_commit AS version_before, lag(u.hash) OVER in_commit AS hash_before
              FROM unnest(commits, followers, stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes)
                AS u(commit, follows, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
            WINDOW in_commit AS (PARTITION BY u.stream_id, u.commit ORDER BY u.stream_version)) AS x
     WHERE x.follows AND NOT coalesce(x.version_before = x.stream_version - 1 AND x.hash = event_hash(x.hash_before, event_text(
             x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at)), false);
  END IF;
  IF forged IS NOT NULL THEN
    RAISE EXCEPTION 'no events of their streams, by content, hash or the event before them: %', forged USING ERRCODE = 'BU003';
  END IF;
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
    IF cardinality(refused) > 0 OR NOT apply_only_hold(guards->'holds') THEN
      refused := refused || apply_holds(guards->'holds', (SELECT coalesce(array_agg((r->>'commit')::integer), '{}') FROM unnest(refused) AS r));
    END IF;
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

  -- Behind every lock that this has waited for.
  IF guards ? 'deadlines' THEN refused := refused || late_signatures(guards->'deadlines', refused); END IF;

  IF cardinality(refused) > 0 THEN
    RAISE EXCEPTION 'commits refused' USING ERRCODE = 'BU001', DETAIL = to_jsonb(refused)::text;
  END IF;

  IF NOT may.unlimited THEN
    FOR i IN 1..coalesce(cardinality(types), 0) LOOP
      CONTINUE WHEN types[i] = checked AND schema_versions[i] = checked_version AND starts_with(stream_ids[i], category || '-');
      category := split_part(stream_ids[i], '-', 1);
      checked := types[i];
      checked_version := schema_versions[i];
      IF NOT coalesce(checked_version BETWEEN 1 AND (may.schema_versions)[array_position(may.events, category || ':' || checked)], false) THEN
        RAISE EXCEPTION 'the database user % may not append %:% in schema version %', session_user, category, checked, checked_version
          USING ERRCODE = 'insufficient_privilege';
      END IF;
    END LOOP;
    IF rows ? 'wallets' AND 'wallet:WalletCreated' <> ALL (may.events) THEN PERFORM refuse_new_keys(rows->'wallets'); END IF;
  END IF;

  INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment)
    SELECT * FROM unnest(stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes, environments);

  -- Rows, holds and keys that do not follow from these events. From here on nobody else extends their streams.
  IF NOT may.unlimited THEN
    nothing := refuse_foreign_rows(guards, rows, stream_ids, stream_versions, types, all_data, all_metadata);
  END IF;
  IF rows - 'transactions' = '{}' THEN
    IF rows ? 'transactions' THEN nothing := put_transactions(rows->'transactions'); END IF;
  ELSE
    nothing := put_rows(rows);
  END IF;

  IF guards ? 'releases' THEN
    IF NOT apply_only_hold(guards->'releases') THEN PERFORM apply_holds(guards->'releases', '{}'); END IF;
    -- They may have waited for the account.
    IF guards ? 'deadlines' THEN
      refused := late_signatures(guards->'deadlines', '{}');
      IF cardinality(refused) > 0 THEN
        RAISE EXCEPTION 'commits refused' USING ERRCODE = 'BU001', DETAIL = to_jsonb(refused)::text;
      END IF;
    END IF;
  END IF;
END $$;

-- SECURITY DEFINER and the path as before; migrate grants it.
DO $body$
DECLARE
  entry CONSTANT regprocedure := 'append_commits(jsonb, json, jsonb)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET lock_timeout = ''1s''', entry);
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', entry);
END $body$;
