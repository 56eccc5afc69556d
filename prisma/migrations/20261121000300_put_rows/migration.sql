-- A table joins those that an append writes by one call: append_commits need not be written anew for each.

DROP FUNCTION create_put_function(regclass);

-- Makes put_<table>(rows jsonb), which inserts rows, and put_rows(rows jsonb), by which append_commits hands each table its
-- rows. Call it again whenever the table changes. A row replaces the one of the same primary key, unless `first_stays`.
-- The statements inside are static, so their plans are kept.
CREATE FUNCTION create_put_function(target regclass, first_stays boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $body$
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
    'CREATE OR REPLACE FUNCTION put_rows(rows jsonb) RETURNS void LANGUAGE plpgsql AS $put$ BEGIN
       %s
       IF rows - ARRAY[%s] <> ''{}'' THEN
         RAISE EXCEPTION ''rows for a table that has no put function: %%'', (SELECT string_agg(name, '', '') FROM jsonb_object_keys(rows) AS name);
       END IF;
     END $put$', calls, tables);
END $body$;

-- Any table will do: put_rows is made of all that joined so far.
SELECT create_put_function('wallets');

-- Appends a batch of commits, all or nothing. `guards` holds arrays whose items name their commit by index:
--   fences      {commit, name, fence}                               the lease must still have this fence
--   idempotency {commit, tenant_id, key, fingerprint, resource_id}  the key must be new (or already name this resource)
--   holds       {commit, wallet_id, asset_id, delta, must_fit}      base units to hold back of a balance, checked and locked first
--   releases    the same, never refused: applied last, so that a long commit does not keep new requests waiting for the account
--   wallets     {commit, wallet_id, require}                        'active': not archived; 'idle': nothing pending
-- When guards refuse commits, nothing is changed and SQLSTATE BU001 tells in DETAIL which commits and why: the caller
-- answers those and sends the others again. A commit that is in the log already (an earlier try whose answer was lost)
-- is told as 'appended_before'.
CREATE OR REPLACE FUNCTION append_commits(guards jsonb, new_events jsonb, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  refused jsonb[] := '{}';
BEGIN
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
  INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
    SELECT x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at, decode(x.hash, 'hex')
      FROM jsonb_to_recordset(new_events) AS x(stream_id text, stream_version integer, type text, schema_version integer,
                                               data jsonb, metadata jsonb, recorded_at timestamptz, hash text)
     ORDER BY x.stream_id, x.stream_version;

  PERFORM put_rows(rows);

  IF guards ? 'releases' THEN PERFORM apply_holds(guards->'releases', '{}'); END IF;
END $$;
