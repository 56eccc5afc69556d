-- The write path: one call appends many commits, each with its guards and its read-model rows, in one transaction.

-- Makes put_<table>(rows jsonb): inserts rows, or replaces those that have the same primary key. Call it again whenever
-- the table changes. The statements inside are static, so their plans are kept.
CREATE FUNCTION create_put_function(target regclass) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  keys text;
  assignments text;
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
         ON CONFLICT (%2$s) DO UPDATE SET %3$s;
     END $put$', target, keys, assignments);
END $body$;

SELECT create_put_function(name::regclass)
  FROM unnest(ARRAY['wallets', 'transactions', 'balances', 'api_keys', 'assets', 'chain_blocks', 'chain_cursors']) AS name;

-- Locks the holds of a batch in one order, whatever order its commits name them in, so that two processes never wait for
-- each other, then adds each delta in commit order. Returns what is refused: {"commit", "outcome", "detail"}.
CREATE FUNCTION apply_holds(holds jsonb, already_refused integer[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE
  hold record;
  refused jsonb[] := '{}';
  short integer[] := already_refused;
BEGIN
  PERFORM 1 FROM wallet_holds h
    WHERE (h.wallet_id, h.asset_id) IN (SELECT x.wallet_id, x.asset_id FROM jsonb_to_recordset(holds) AS x(wallet_id text, asset_id text))
    ORDER BY h.wallet_id, h.asset_id FOR UPDATE;
  INSERT INTO wallet_holds (wallet_id, asset_id)
    SELECT DISTINCT x.wallet_id, x.asset_id FROM jsonb_to_recordset(holds) AS x(wallet_id text, asset_id text)
     WHERE NOT EXISTS (SELECT 1 FROM wallet_holds h WHERE h.wallet_id = x.wallet_id AND h.asset_id = x.asset_id)
     ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
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

-- Appends a batch of commits, all or nothing. `guards` holds arrays whose items name their commit by index:
--   fences      {commit, name, fence}                               the lease must still have this fence
--   idempotency {commit, tenant_id, key, fingerprint, resource_id}  the key must be new (or already name this resource)
--   holds       {commit, wallet_id, asset_id, delta, must_fit}      base units to hold back of a balance, checked and locked first
--   releases    the same, never refused: applied last, so that a long commit does not keep new requests waiting for the account
--   wallets     {commit, wallet_id, require}                        'active': not archived; 'idle': nothing pending
-- When guards refuse commits, nothing is changed and SQLSTATE BU001 tells in DETAIL which commits and why: the caller
-- answers those and sends the others again. A commit that is in the log already (an earlier try whose answer was lost)
-- is told as 'appended_before'.
CREATE FUNCTION append_commits(guards jsonb, new_events jsonb, rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
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

  IF rows ? 'wallets' THEN PERFORM put_wallets(rows->'wallets'); END IF;
  IF rows ? 'transactions' THEN PERFORM put_transactions(rows->'transactions'); END IF;
  IF rows ? 'balances' THEN PERFORM put_balances(rows->'balances'); END IF;
  IF rows ? 'api_keys' THEN PERFORM put_api_keys(rows->'api_keys'); END IF;
  IF rows ? 'assets' THEN PERFORM put_assets(rows->'assets'); END IF;
  IF rows ? 'chain_blocks' THEN PERFORM put_chain_blocks(rows->'chain_blocks'); END IF;
  IF rows ? 'chain_cursors' THEN PERFORM put_chain_cursors(rows->'chain_cursors'); END IF;

  IF guards ? 'releases' THEN PERFORM apply_holds(guards->'releases', '{}'); END IF;
END $$;

-- Leases -------------------------------------------------------------------------------------------------------------

-- Takes a lease when it is free or expired: returns its new fence, or null and leaves a note for the holder that it is
-- wanted. The row lock makes the note and a release by the holder exclude each other: a wake-up is never lost.
CREATE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  INSERT INTO leases (name) VALUES (lease_name) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM leases WHERE name = lease_name FOR UPDATE;
  UPDATE leases SET holder = new_holder, fence = fence + 1, wanted = false,
                    expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name AND (holder IS NULL OR expires_at < clock_timestamp())
  RETURNING fence INTO taken;
  IF taken IS NULL THEN
    UPDATE leases SET wanted = true WHERE name = lease_name AND NOT wanted;
  END IF;
  RETURN taken;
END $$;

-- Keeps a lease for another `lease_ms`. False when it was lost. Does not wait for the disk: after a crash the lease ends sooner.
CREATE FUNCTION renew_lease(lease_name text, held_fence bigint, lease_ms integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE leases SET expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name AND fence = held_fence AND holder IS NOT NULL;
  RETURN FOUND;
END $$;

-- Gives a lease back, unless somebody wanted it meanwhile: then the note is taken off, the lease stays with the holder,
-- and 'wanted' tells it to look for work once more. `force` gives it back whatever was noted. Does not wait for the disk:
-- after a crash the lease ends by itself.
CREATE FUNCTION release_lease(lease_name text, held_fence bigint, force boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  was_wanted boolean;
BEGIN
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
