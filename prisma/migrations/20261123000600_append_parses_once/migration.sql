-- An append reads each of its arguments once, and handles sets of rows where it handled them one by one.

-- Environments of events -----------------------------------------------------------------------------------------------

-- An append looks up the event before each new one anyway, and takes the environment from there. The trigger determines
-- the others.
ALTER TABLE events ALTER COLUMN environment DROP DEFAULT;
DROP TRIGGER events_environment ON events;
CREATE TRIGGER events_environment BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.environment IS NULL)
  EXECUTE FUNCTION set_event_environment();

-- Holds ----------------------------------------------------------------------------------------------------------------

-- Locks the holds of a batch in one order, whatever order its commits name them in, so that two processes never wait for
-- each other, then adds their deltas. Returns what is refused: {"commit", "outcome", "detail"}.
CREATE OR REPLACE FUNCTION apply_holds(holds jsonb, already_refused integer[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE
  wallet_ids text[];
  asset_ids text[];
  deltas numeric[];
  highest numeric[];
  must_fit boolean[];
  found_rows bigint;
  scarce boolean := false;
  hold record;
  refused jsonb[] := '{}';
  short integer[] := already_refused;
BEGIN
  -- `highest`: the most that an account has to hold while the deltas are added in whatever order.
  SELECT array_agg(a.wallet_id), array_agg(a.asset_id), array_agg(a.delta), array_agg(a.highest), array_agg(a.must_fit)
    INTO wallet_ids, asset_ids, deltas, highest, must_fit
    FROM (SELECT x.wallet_id, x.asset_id, bool_or(x.must_fit) AS must_fit,
                 coalesce(sum(x.delta) FILTER (WHERE x.commit <> ALL (already_refused)), 0) AS delta,
                 coalesce(sum(greatest(x.delta, 0)) FILTER (WHERE x.commit <> ALL (already_refused)), 0) AS highest
            FROM jsonb_to_recordset(holds) AS x(commit integer, wallet_id text, asset_id text, delta numeric, must_fit boolean)
           GROUP BY x.wallet_id, x.asset_id ORDER BY x.wallet_id, x.asset_id) AS a;

  -- In the order of the arrays: LATERAL looks up and locks one row for each item.
  PERFORM 1 FROM unnest(wallet_ids, asset_ids) AS a(wallet_id, asset_id)
    CROSS JOIN LATERAL (SELECT 1 FROM wallet_holds h WHERE h.wallet_id = a.wallet_id AND h.asset_id = a.asset_id FOR UPDATE) AS locked;
  GET DIAGNOSTICS found_rows = ROW_COUNT;
  IF found_rows < cardinality(wallet_ids) THEN
    INSERT INTO wallet_holds (wallet_id, asset_id) SELECT * FROM unnest(wallet_ids, asset_ids) ON CONFLICT DO NOTHING;
  END IF;

  -- A new statement: it sees the balances and holds as of the locks.
  IF true = ANY (must_fit) THEN
    SELECT bool_or(h.held + a.highest > coalesce(b.balance, 0)) INTO scarce
      FROM unnest(wallet_ids, asset_ids, highest, must_fit) AS a(wallet_id, asset_id, highest, must_fit)
     CROSS JOIN LATERAL (SELECT w.held FROM wallet_holds w WHERE w.wallet_id = a.wallet_id AND w.asset_id = a.asset_id OFFSET 0) AS h
      LEFT JOIN LATERAL (SELECT n.balance FROM balances n WHERE n.wallet_id = a.wallet_id AND n.asset_id = a.asset_id OFFSET 0) AS b ON true
     WHERE a.must_fit;
  END IF;
  IF NOT scarce THEN
    UPDATE wallet_holds h SET held = h.held + a.delta
      FROM unnest(wallet_ids, asset_ids, deltas) AS a(wallet_id, asset_id, delta)
     WHERE h.wallet_id = a.wallet_id AND h.asset_id = a.asset_id AND a.delta <> 0;
    RETURN refused;
  END IF;

  -- Some do not fit: in the order of the commits, the first ones get what is there.
  FOR hold IN
    SELECT x.* FROM ROWS FROM (jsonb_to_recordset(holds) AS (commit integer, wallet_id text, asset_id text, delta numeric, must_fit boolean))
      WITH ORDINALITY AS x(commit, wallet_id, asset_id, delta, must_fit, n)
  LOOP
    CONTINUE WHEN hold.commit = ANY (short);
    UPDATE wallet_holds h SET held = h.held + hold.delta
     WHERE h.wallet_id = hold.wallet_id AND h.asset_id = hold.asset_id
       AND (NOT hold.must_fit OR h.held + hold.delta <= coalesce(
             (SELECT b.balance FROM balances b WHERE b.wallet_id = hold.wallet_id AND b.asset_id = hold.asset_id), 0));
    IF NOT FOUND THEN
      short := short || hold.commit;
      refused := refused || (SELECT jsonb_build_object('commit', hold.commit, 'outcome', 'insufficient_funds', 'detail', jsonb_build_object(
          'asset_id', hold.asset_id, 'needed', hold.delta::text,
          'available', greatest(coalesce((SELECT b.balance FROM balances b WHERE b.wallet_id = hold.wallet_id AND b.asset_id = hold.asset_id), 0) - h.held, 0)::text))
        FROM wallet_holds h WHERE h.wallet_id = hold.wallet_id AND h.asset_id = hold.asset_id);
      -- What this commit held before it was refused must not stand in the way of the commits after it.
      UPDATE wallet_holds h SET held = h.held - x.delta
        FROM ROWS FROM (jsonb_to_recordset(holds) AS (commit integer, wallet_id text, asset_id text, delta numeric))
          WITH ORDINALITY AS x(commit, wallet_id, asset_id, delta, n)
       WHERE x.commit = hold.commit AND x.n < hold.n AND h.wallet_id = x.wallet_id AND h.asset_id = x.asset_id;
    END IF;
  END LOOP;
  RETURN refused;
END $$;

-- Rows of read models --------------------------------------------------------------------------------------------------

-- As before, and put_rows looks for tables without a put function by the names alone.
CREATE OR REPLACE FUNCTION create_put_function(target regclass, first_stays boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  keys text;
  assignments text;
  calls text;
  tables text;
BEGIN
  SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) INTO keys
    FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, n), pg_attribute a
   WHERE i.indrelid = target AND i.indisprimary AND a.attrelid = target AND a.attnum = k.attnum;
  SELECT string_agg(format('%1$I = excluded.%1$I', a.attname), ', ' ORDER BY a.attnum) INTO assignments
    FROM pg_attribute a
   WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped;
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION put_%1$s(rows jsonb) RETURNS void LANGUAGE plpgsql AS $put$ BEGIN
       INSERT INTO %1$I SELECT * FROM jsonb_populate_recordset(NULL::%1$I, rows) ORDER BY %2$s
         ON CONFLICT (%2$s) DO %3$s;
     END $put$', target, keys, CASE WHEN first_stays THEN 'NOTHING' ELSE 'UPDATE SET ' || assignments END);

  -- By name: one order for every writer, so that two of them never wait for each other's rows.
  SELECT string_agg(format('IF rows ? %1$L THEN PERFORM put_%1$s(rows->%1$L); END IF;', c.relname), E'\n' ORDER BY c.relname),
         string_agg(quote_literal(c.relname), ', ' ORDER BY c.relname)
    INTO calls, tables
    FROM pg_class c JOIN pg_proc p ON p.proname = 'put_' || c.relname AND p.pronamespace = c.relnamespace
   WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid);
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION put_rows(rows jsonb) RETURNS void LANGUAGE plpgsql AS $put$
     DECLARE
       unknown text;
     BEGIN
       SELECT string_agg(name, '', '') INTO unknown FROM jsonb_object_keys(rows) AS name WHERE name <> ALL (ARRAY[%s]);
       IF unknown IS NOT NULL THEN
         RAISE EXCEPTION ''rows for a table that has no put function: %%'', unknown;
       END IF;
       %s
     END $put$', tables, calls);
END $body$;
SELECT create_put_function('transactions');

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
BEGIN
  IF NOT unlimited THEN
    SELECT * INTO may FROM session_rights();
    PERFORM refuse_tables(guards, rows, may.tables);
  END IF;

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
                    FILTER (WHERE x.previous IS NOT NULL AND p.hash IS DISTINCT FROM decode(x.previous, 'hex')), '{}')
    INTO stream_ids, stream_versions, types, schema_versions, all_data, all_metadata, times, hashes, environments, conflicts, outdated
    FROM (SELECT n.*, decode(n.hash, 'hex') AS new_hash
            FROM jsonb_to_recordset(new_events) AS n(commit integer, stream_id text, stream_version integer, type text, schema_version integer,
                                                     data jsonb, metadata jsonb, recorded_at timestamptz, hash text, previous text)
           ORDER BY n.stream_id, n.stream_version) AS x
    LEFT JOIN LATERAL (SELECT v.hash FROM events v WHERE v.stream_id = x.stream_id AND v.stream_version = x.stream_version OFFSET 0) AS e ON true
    LEFT JOIN LATERAL (SELECT v.hash, v.environment FROM events v
                        WHERE x.previous IS NOT NULL AND v.stream_id = x.stream_id AND v.stream_version = x.stream_version - 1 OFFSET 0) AS p ON true;
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
  entry CONSTANT regprocedure := 'append_commits(jsonb, jsonb, jsonb)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET lock_timeout = ''1s''', entry);
END $body$;
