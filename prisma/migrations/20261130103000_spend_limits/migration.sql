-- What may be spent in a window of time: a transaction that limits cover says in its first event what it counts towards them.

-- By counter, whose name says nothing here, and by the begin of a 96th of the window of its limit: the sum of what was reserved then.
CREATE TABLE spend_buckets (
  counter text NOT NULL,
  bucket  timestamptz(3) NOT NULL,
  spent   numeric(96) NOT NULL,
  PRIMARY KEY (counter, bucket)
);

-- A row is the lock of its counter. Nobody but the append may take it: an advisory lock could be held by whoever logs in.
CREATE TABLE spend_counters (counter text PRIMARY KEY);

CREATE TYPE reservation AS (
  commit integer, chain_id integer, counter text, bucket timestamptz, amount numeric, kept numeric, at_most numeric, width interval
);

-- What the transactions that these events open reserve.
CREATE FUNCTION reservations_in(commits integer[], stream_ids text[], stream_versions integer[], all_data json[]) RETURNS reservation[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
  RETURN (
    SELECT array_agg((e.commit, d."chainId", r.counter, r.bucket, r.amount, r.kept, r."limit", make_interval(secs => r."windowSeconds"))::reservation)
      FROM unnest(commits, stream_ids, stream_versions, all_data) AS e(commit, stream_id, version, data)
     CROSS JOIN LATERAL json_to_record(e.data) AS d("chainId" integer, reservations json)
     CROSS JOIN LATERAL json_to_recordset(d.reservations)
       AS r(counter text, bucket timestamptz, amount numeric, kept numeric, "limit" numeric, "windowSeconds" integer)
     WHERE e.version = 1 AND starts_with(e.stream_id, 'transaction-') AND d.reservations IS NOT NULL);
END $$;

-- When what is asked for fits, if nothing else is spent until then; null if it never does.
CREATE FUNCTION room_at(counter text, since timestamptz, width interval, at_most numeric, asked numeric) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT min(x.bucket) + width + width / 96
    FROM (SELECT b.bucket, sum(b.spent) OVER (ORDER BY b.bucket DESC) - b.spent AS later
            FROM spend_buckets b WHERE b.counter = room_at.counter AND b.bucket >= since) AS x
   WHERE x.later + asked <= at_most
$$;

-- Locks the counters of a batch in one order, whatever order its commits name them in, and compares what was spent since the begin of
-- the window with the limit. Whoever has the lock last has counted all others: so no interval as long as the window ever has more than the
-- limit, whatever the clocks say. A clock that is ahead would forget what was spent: so no bucket begins more than five minutes
-- after the newest block of the chain that its follower has recorded. Returns what is refused.
CREATE FUNCTION refuse_spends(reserved reservation[], already_refused jsonb[]) RETURNS jsonb[]
LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  short integer[] := array(SELECT (r->>'commit')::integer FROM unnest(already_refused) AS r);
  refused jsonb[] := '{}';
  one jsonb;
  taken jsonb := '{}';
  fits boolean;
  n integer;
BEGIN
  PERFORM FROM unnest(reserved) AS r WHERE (r.amount BETWEEN 0 AND 1e90 AND r.kept BETWEEN 0 AND r.amount
                                            AND r.width BETWEEN '1 hour' AND '31 days') IS NOT TRUE;
  IF FOUND THEN RAISE EXCEPTION 'a reservation is no amount of a window' USING ERRCODE = 'invalid_parameter_value'; END IF;
  INSERT INTO spend_counters (counter) SELECT DISTINCT r.counter FROM unnest(reserved) AS r ORDER BY 1 ON CONFLICT DO NOTHING;
  PERFORM FROM spend_counters c WHERE c.counter IN (SELECT r.counter FROM unnest(reserved) AS r) ORDER BY c.counter FOR NO KEY UPDATE;

  -- A new statement: it sees what was spent as of the locks.
  SELECT coalesce(bool_and(a.asked + b.spent <= a.at_most), true) AND NOT EXISTS (
           SELECT FROM unnest(reserved) AS r WHERE r.commit <> ALL (short)
            GROUP BY r.chain_id HAVING (max(r.bucket) <= newest_time(r.chain_id)) IS NOT TRUE)
    INTO fits
    FROM (SELECT r.counter, sum(r.amount) AS asked, min(r.bucket - r.width) AS since, min(r.at_most) AS at_most
            FROM unnest(reserved) AS r WHERE r.commit <> ALL (short) GROUP BY r.counter) AS a
   CROSS JOIN LATERAL (SELECT coalesce(sum(s.spent), 0) AS spent FROM spend_buckets s WHERE s.counter = a.counter AND s.bucket >= a.since OFFSET 0) AS b;
  IF fits THEN RETURN refused; END IF;

  -- Some do not fit: in the order of the commits, the first ones get what is there.
  FOR n IN SELECT DISTINCT r.commit FROM unnest(reserved) AS r WHERE r.commit <> ALL (short) ORDER BY 1 LOOP
    SELECT CASE WHEN (a.until <= newest_time(a.chain_id)) IS TRUE THEN jsonb_build_object('commit', n, 'outcome', 'limit_reached', 'detail',
                  jsonb_strip_nulls(jsonb_build_object('counter', a.counter, 'needed', a.asked::text, 'left', greatest(a.at_most - b.spent, 0)::text,
                                                       'room_at', to_json(c.room))))
                ELSE jsonb_build_object('commit', n, 'outcome', 'limit_time_unknown', 'detail', jsonb_build_object('counter', a.counter)) END
      INTO one
      FROM (SELECT r.counter, r.chain_id, r.width, sum(r.amount) AS asked, min(r.bucket - r.width) AS since, max(r.bucket) AS until, min(r.at_most) AS at_most
              FROM unnest(reserved) AS r WHERE r.commit = n GROUP BY r.counter, r.chain_id, r.width) AS a
     CROSS JOIN LATERAL (SELECT coalesce(sum(s.spent), 0) + coalesce((taken->>a.counter)::numeric, 0) AS spent, coalesce((taken->>a.counter)::numeric, 0) AS taken
                           FROM spend_buckets s WHERE s.counter = a.counter AND s.bucket >= a.since OFFSET 0) AS b
     CROSS JOIN LATERAL (SELECT CASE WHEN a.asked <= a.at_most THEN
                           coalesce(room_at(a.counter, a.since, a.width, a.at_most - b.taken, a.asked), a.until + a.width + a.width / 96) END AS room OFFSET 0) AS c
     WHERE (a.asked + b.spent <= a.at_most AND a.until <= newest_time(a.chain_id)) IS NOT TRUE
     -- The one that has room last, or never: earlier the others would not help.
     ORDER BY (a.until <= newest_time(a.chain_id)) IS TRUE, c.room DESC NULLS FIRST, a.counter LIMIT 1;
    IF FOUND THEN
      refused := refused || one;
    ELSE
      SELECT taken || jsonb_object_agg(a.counter, a.asked + coalesce((taken->>a.counter)::numeric, 0)) INTO taken
        FROM (SELECT r.counter, sum(r.amount) AS asked FROM unnest(reserved) AS r WHERE r.commit = n GROUP BY r.counter) AS a;
    END IF;
  END LOOP;
  RETURN refused;
END $$;

-- Five minutes after the newest block that the follower of a chain has recorded; null if it has recorded none.
CREATE FUNCTION newest_time(id integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT to_timestamp(c.timestamp) + interval '5 minutes' FROM chain_blocks c WHERE c.chain_id = id ORDER BY c.number DESC LIMIT 1
$$;

-- What counts of a transaction: all that it reserved, what stays spent once it is in a block (its fee), or nothing. As spentOf of spends.ts.
CREATE FUNCTION spent_part(state text, is_in_block boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN state = 'failed' OR (state = 'cancelled' AND NOT is_in_block) THEN 'nothing'
              WHEN state IN ('reverted', 'cancelled') THEN 'kept' ELSE 'all' END
$$;

CREATE TYPE spend_change AS (counter text, bucket timestamptz, delta numeric);

-- What this append reserves, and what the outcomes of earlier transactions give back to their buckets or take again. It is called before
-- the rows change, and derives everything from events and states, so that no process can say it otherwise.
CREATE FUNCTION spend_changes(reserved reservation[], rows jsonb) RETURNS spend_change[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
  RETURN (
    SELECT array_agg(x::spend_change)
      FROM (SELECT r.counter, r.bucket, r.amount AS delta FROM unnest(reserved) AS r
             UNION ALL
            -- LATERAL with OFFSET: one look-up for each row, whatever the statistics say.
            SELECT r->>'counter', (r->>'bucket')::timestamptz,
                   CASE p.after WHEN 'all' THEN (r->>'amount')::numeric WHEN 'kept' THEN (r->>'kept')::numeric ELSE 0 END
                     - CASE p.before WHEN 'all' THEN (r->>'amount')::numeric WHEN 'kept' THEN (r->>'kept')::numeric ELSE 0 END
              FROM jsonb_array_elements(rows->'transactions') AS x
             CROSS JOIN LATERAL (SELECT t.state, t.block_number IS NOT NULL AS in_block FROM transactions t
                                  WHERE t.transaction_id = x->>'transaction_id' OFFSET 0) AS s
             CROSS JOIN LATERAL (SELECT spent_part(s.state, s.in_block) AS before,
                                        spent_part(coalesce(x->>'state', s.state), CASE WHEN x ? 'block_number' OR NOT x ? 'after_version'
                                                                                        THEN x->>'block_number' IS NOT NULL ELSE s.in_block END) AS after OFFSET 0) AS p
             CROSS JOIN LATERAL (SELECT (o.data->>'reservations')::jsonb AS reservations FROM events o
                                  WHERE p.before <> p.after AND o.stream_id = 'transaction-' || (x->>'transaction_id') AND o.stream_version = 1 OFFSET 0) AS o
             CROSS JOIN LATERAL jsonb_array_elements(coalesce(o.reservations, '[]')) AS r) AS x);
END $$;

-- Adds the changes to their buckets, all in one order: of two appends that share buckets, one waits for the other, whether they reserve,
-- give back or both. Nothing is locked behind them. What no window reaches is deleted.
CREATE FUNCTION count_spends(changes spend_change[], reserved reservation[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
  IF reserved IS NOT NULL THEN
    DELETE FROM spend_buckets b USING (
      SELECT s.counter, s.bucket
        FROM (SELECT r.counter, min(r.bucket) AS bucket FROM unnest(reserved) AS r GROUP BY r.counter) AS a
        JOIN spend_buckets s ON s.counter = a.counter AND s.bucket < a.bucket - interval '32 days' FOR UPDATE OF s SKIP LOCKED) AS old
     WHERE b.counter = old.counter AND b.bucket = old.bucket;
  END IF;
  INSERT INTO spend_buckets AS b (counter, bucket, spent)
  SELECT c.counter, c.bucket, sum(c.delta) FROM unnest(changes) AS c GROUP BY c.counter, c.bucket HAVING sum(c.delta) <> 0 ORDER BY c.counter, c.bucket
      ON CONFLICT (counter, bucket) DO UPDATE SET spent = b.spent + excluded.spent;
END $$;

-- Limits of keys ---------------------------------------------------------------------------------------------------------

-- Whether no more can be spent with the limits than with the others: each of those is among them, with at most its amount, and they are about
-- no asset that the others leave out, since a limit of amounts also lets what it is about be spent. As isWithinLimits of key-limits.ts.
CREATE FUNCTION are_limits_within(limits jsonb, others jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT NOT EXISTS (SELECT FROM jsonb_array_elements(others) AS o WHERE NOT EXISTS (
           SELECT FROM jsonb_array_elements(limits) AS l
            WHERE l->'counter' = o->'counter' AND l->'windowSeconds' = o->'windowSeconds' AND (l->>'amount')::numeric <= (o->>'amount')::numeric))
     AND (NOT EXISTS (SELECT FROM jsonb_array_elements(others) AS o WHERE o->>'of' <> 'transactions')
          OR NOT EXISTS (SELECT FROM jsonb_array_elements(limits) AS l WHERE l->>'of' <> 'transactions' AND NOT EXISTS (
               SELECT FROM jsonb_array_elements(others) AS o
                WHERE o->>'of' = 'usd' OR (o->>'of' = 'asset' AND l->>'of' = 'asset' AND o->'assetId' = l->'assetId'))))
$$;

-- As before, with its limits.
DROP FUNCTION key_before(text, text[], integer[]);
CREATE FUNCTION key_before(id text, stream_ids text[], stream_versions integer[],
                           OUT tenant_id text, OUT environment text, OUT grants text[], OUT ends_at timestamptz, OUT ranges cidr[], OUT limits jsonb)
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
        limits := coalesce(e.data->'limits', '[]');
      WHEN 'ApiKeyChanged' THEN
        grants := array(SELECT g FROM unnest(grants) AS g WHERE e.data->'grants' ? g);
        ends_at := least(ends_at, (e.data->>'expiresAt')::timestamptz);
        ranges := array(SELECT jsonb_array_elements_text(e.data->'ipAllowlist')::cidr);
        limits := coalesce(e.data->'limits', '[]');
      WHEN 'ApiKeyRotated' THEN ends_at := least(ends_at, (e.data->>'overlapEndsAt')::timestamptz);
      WHEN 'ApiKeyRevoked' THEN ends_at := '-infinity';
      ELSE NULL;
    END CASE;
  END LOOP;
END $$;

-- As before: and a key that has limits makes and opens none that does not have them.
CREATE OR REPLACE FUNCTION refuse_keys(stream_ids text[], stream_versions integer[], types text[], all_data json[], all_metadata json[])
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
             array(SELECT jsonb_array_elements_text(data->'grants')) AS grants, coalesce((data->>'expiresAt')::timestamptz, 'infinity') AS ends_at,
             data->'limits' AS limits
        INTO target;
    ELSE
      target := key_before(substr(stream_ids[i], length('apikey-') + 1), stream_ids, stream_versions);
    END IF;
    IF (maker.ends_at > clock_timestamp() AND 'api_keys:write' = ANY (maker.grants)
        AND target.tenant_id = maker.tenant_id AND target.environment = maker.environment
        AND all_metadata[i]->>'tenantId' = maker.tenant_id
        AND ((types[i] = 'ApiKeyChanged' AND are_within(ranges, target.ranges) AND are_limits_within(data->'limits', target.limits))
             OR (target.grants <@ maker.grants AND target.ends_at <= maker.ends_at AND are_within(ranges, maker.ranges)
                 AND are_limits_within(data->'limits', maker.limits)))) IS NOT TRUE THEN
      RAISE EXCEPTION 'the key % may not be made or opened by %', stream_ids[i], coalesce(maker_id, 'no key') USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
END $$;

-- The append -----------------------------------------------------------------------------------------------------------

-- As before, with what is spent.
CREATE OR REPLACE FUNCTION append_commits(guards jsonb, new_events json, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
  reserved reservation[];
  spends spend_change[];
  settles boolean;
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
            FROM ROWS FROM (json_to_recordset(new_events) AS (commit integer, stream_id text, stream_version integer, type text, schema_version integer,
                                                    data json, metadata json, recorded_at timestamptz(3), hash text, previous text)) WITH ORDINALITY AS n
           -- Transfers of a block in the order of the chain: one process at a time writes them.
           ORDER BY CASE WHEN starts_with(n.stream_id, 'observed-') THEN 'observed-' ELSE n.stream_id END, n.commit,
                    CASE WHEN starts_with(n.stream_id, 'observed-') THEN n.ordinality END, n.stream_version) AS x
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

  -- Before the holds: commits of other wallets wait for the counter of a limit, and must not keep holds from others meanwhile.
  IF strpos(new_events::text, '"reservations":[') > 0 THEN
    reserved := reservations_in(commits, stream_ids, stream_versions, all_data);
    IF reserved IS NOT NULL THEN refused := refused || refuse_spends(reserved, refused); END IF;
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
  settles := types && '{TransactionFailed,TransactionCancelled,TransactionReverted,TransactionMined,SettlementRevoked}';
  IF reserved IS NOT NULL OR settles THEN spends := spend_changes(reserved, CASE WHEN settles THEN rows ELSE '{}' END); END IF;
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

  -- Last: who waits for a bucket must hold nothing that the append before it waits for, as the accounts of its releases.
  IF spends IS NOT NULL THEN nothing := count_spends(spends, reserved); END IF;
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
