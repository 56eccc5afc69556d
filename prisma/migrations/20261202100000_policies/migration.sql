-- Policies of tenants: what is in force, and every version that was.

-- A tenant has a row from its first draft on. An append of a request reads it, so it has few columns that change with others.
CREATE TABLE policies (
  tenant_id      text NOT NULL,
  environment    text NOT NULL,
  active_version integer NOT NULL,
  shadow_version integer NOT NULL,
  shadow_seeded  boolean NOT NULL,
  draft_revision integer NOT NULL,
  draft          jsonb NOT NULL,
  draft_note     text,
  drafted_by     text NOT NULL,
  drafted_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  version        integer NOT NULL,
  PRIMARY KEY (tenant_id, environment)
);
SELECT create_put_function('policies');

CREATE TABLE policy_versions (
  tenant_id        text NOT NULL,
  environment      text NOT NULL,
  policy_version   integer NOT NULL,
  status           text NOT NULL,
  draft_revision   integer NOT NULL,
  policy           jsonb NOT NULL,
  rule_count       integer NOT NULL,
  hash             text NOT NULL,
  previous_version integer,
  previous_hash    text,
  basis            text,
  forced           text,
  shadowed_by      text,
  shadowed_at      timestamptz(3),
  published_by     text,
  published_at     timestamptz(3),
  ended_at         timestamptz(3),
  PRIMARY KEY (tenant_id, environment, policy_version)
);
SELECT create_put_function('policy_versions');

-- What was spent before the shadow of a policy, which the dispatcher adds up: added to the buckets, as if it had been reserved. Nobody is
-- refused by it before the version is published, which waits for the last of these events: so no counter is locked.
CREATE FUNCTION seeded_in(stream_ids text[], types text[], all_data json[]) RETURNS spend_change[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  changes spend_change[];
BEGIN
  SELECT array_agg((c.counter, c.bucket, c.amount)::spend_change) INTO changes
    FROM unnest(stream_ids, types, all_data) AS e(stream_id, type, data)
   CROSS JOIN LATERAL json_to_recordset(e.data->'counters') AS c(counter text, bucket timestamptz, amount numeric)
   WHERE e.type = 'CountersSeeded' AND starts_with(e.stream_id, 'policyseeding-');
  PERFORM FROM unnest(changes) AS c WHERE (c.counter LIKE 'policy %' AND c.bucket IS NOT NULL AND c.delta BETWEEN 1 AND 1e90) IS NOT TRUE;
  IF FOUND THEN RAISE EXCEPTION 'what is seeded is no amount of a counter of a policy' USING ERRCODE = 'invalid_parameter_value'; END IF;
  RETURN changes;
END $$;

DO $body$
DECLARE
  source text := pg_get_functiondef('append_commits(jsonb, json, jsonb)'::regprocedure);
  step CONSTANT text := E'  IF rows - ''transactions'' = ''{}'' THEN\n';
BEGIN
  IF strpos(source, step) = 0 THEN RAISE EXCEPTION 'append_commits is not the function of the previous migration'; END IF;
  EXECUTE replace(source, step,
    E'  IF ''CountersSeeded'' = ANY (types) THEN spends := coalesce(spends, ''{}'') || seeded_in(stream_ids, types, all_data); END IF;\n' || step);
END $body$;

-- What rules name wallets by. A label can be changed by any key that may change wallets, and would let one escape a rule.
ALTER TABLE wallets ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
SELECT create_put_function('wallets');

-- Judging ---------------------------------------------------------------------------------------------------------------

-- What a reservation of a shadow lacks: room. It counts, and refuses nothing.
ALTER TYPE reservation ADD ATTRIBUTE must_fit boolean;

-- As before, and of signatures, exports, vouchers (the second event of a mint) and what was found on chain, which give nothing back.
CREATE OR REPLACE FUNCTION reservations_in(commits integer[], stream_ids text[], stream_versions integer[], all_data json[]) RETURNS reservation[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = 'force_generic_plan' AS $$
BEGIN
  RETURN (
    SELECT array_agg((e.commit, coalesce(d."chainId", (SELECT w.chain_id FROM wallets w WHERE w.wallet_id = d."walletId")), r.counter, r.bucket, r.amount, r.kept,
                      r."limit", make_interval(secs => r."windowSeconds"), r."mustFit" IS NOT FALSE)::reservation)
      FROM unnest(commits, stream_ids, stream_versions, all_data) AS e(commit, stream_id, version, data)
     CROSS JOIN LATERAL json_to_record(e.data) AS d("chainId" integer, "walletId" text, reservations json)
     CROSS JOIN LATERAL json_to_recordset(d.reservations)
       AS r(counter text, bucket timestamptz, amount numeric, kept numeric, "limit" numeric, "windowSeconds" integer, "mustFit" boolean)
     WHERE e.version = CASE split_part(e.stream_id, '-', 1) WHEN 'transaction' THEN 1 WHEN 'signature' THEN 1 WHEN 'export' THEN 1 WHEN 'foundspend' THEN 1 WHEN 'mint' THEN 2 END
       AND d.reservations IS NOT NULL);
END $$;

CREATE TYPE judged_request AS (commit integer, tenant_id text, environment text, wallet_id text, policy json);

-- Refuses requests that were not judged by what is in force for their owner by now, with the tags that their wallet has by now: they are
-- decided again. The events say it, so no process can leave it out. The row of the owner in `policies` is locked, before any event is inserted: by
-- requests together, and alone by whoever changes what they are judged by. So a request before a change, by position, was judged before it.
-- Called when there are policies; an owner without a row has never drafted one.
CREATE FUNCTION refuse_unjudged(commits integer[], stream_ids text[], stream_versions integer[], types text[], all_data json[], already_refused jsonb[])
RETURNS jsonb[] LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  short integer[] := '{}';
  judged judged_request[];
  changing text[];
  one record;
BEGIN
  IF cardinality(already_refused) > 0 THEN short := array(SELECT (r->>'commit')::integer FROM unnest(already_refused) AS r); END IF;
  -- Only what opens something is parsed. What moves nothing (opening-rules.ts) and no API key requests is judged by nobody.
  SELECT array_agg((e.commit, coalesce(w.tenant_id, k.tenant_id, d."tenantId"), coalesce(w.environment, k.environment, d.environment),
                    d."walletId", d.policy)::judged_request) INTO judged
    FROM (SELECT * FROM unnest(commits, stream_ids, stream_versions, types, all_data) AS u(commit, stream_id, version, type, data)
           WHERE CASE split_part(u.stream_id, '-', 1)
                   WHEN 'transaction' THEN u.version = 1 AND u.type NOT IN ('NonceFillRequested', 'CheckpointAnchorRequested', 'SwapGuardDeployRequested')
                   WHEN 'signature' THEN u.version = 1
                   WHEN 'export' THEN u.version = 1
                   WHEN 'foundspend' THEN u.version = 1
                   WHEN 'apikey' THEN u.type IN ('ApiKeyChanged', 'ApiKeyIssued')
                   WHEN 'mint' THEN u.type = 'VoucherRequested'
                   ELSE false END
             AND u.commit <> ALL (short) OFFSET 0) AS e
   CROSS JOIN LATERAL json_to_record(e.data) AS d("walletId" text, "tenantId" text, environment text, "issuedBy" text, policy json)
    LEFT JOIN LATERAL (SELECT w.tenant_id, w.environment FROM wallets w WHERE w.wallet_id = d."walletId" OFFSET 0) AS w ON true
    LEFT JOIN LATERAL (SELECT k.tenant_id, k.environment FROM api_keys k
                        WHERE e.type = 'ApiKeyChanged' AND k.key_id = substr(e.stream_id, length('apikey-') + 1) OFFSET 0) AS k ON true
   WHERE e.type <> 'ApiKeyIssued' OR d."issuedBy" IS NOT NULL;

  -- The names of streams: both environments have seven letters.
  IF 'WalletTagged' = ANY (types) OR strpos(' ' || array_to_string(stream_ids, ' '), ' policy-') > 0 THEN
    SELECT array_agg(DISTINCT coalesce(w.tenant_id || '-' || w.environment, substr(e.stream_id, length('policy-') + 1))) INTO changing
      FROM unnest(stream_ids, types) AS e(stream_id, type)
      LEFT JOIN LATERAL (SELECT v.tenant_id, v.environment FROM wallets v
                          WHERE e.type = 'WalletTagged' AND v.wallet_id = substr(e.stream_id, length('wallet-') + 1) OFFSET 0) AS w ON true
     WHERE starts_with(e.stream_id, 'policy-') OR w.tenant_id IS NOT NULL;
  END IF;

  IF changing IS NULL THEN
    IF judged IS NULL THEN RETURN '{}'; END IF;
    PERFORM FROM (SELECT DISTINCT j.tenant_id, j.environment FROM unnest(judged) AS j ORDER BY 1, 2) AS o
     CROSS JOIN LATERAL (SELECT FROM policies p WHERE p.tenant_id = o.tenant_id AND p.environment = o.environment FOR SHARE) AS p;
    IF NOT FOUND THEN RETURN '{}'; END IF;
  ELSE
    FOR one IN SELECT o.tenant_id, o.environment, bool_or(o.alone) AS alone
                 FROM (SELECT j.tenant_id, j.environment, false AS alone FROM unnest(judged) AS j
                        UNION ALL SELECT left(c, length(c) - length('-testnet')), right(c, length('testnet')), true FROM unnest(changing) AS c) AS o
                GROUP BY 1, 2 ORDER BY 1, 2 LOOP
      IF one.alone THEN PERFORM FROM policies p WHERE p.tenant_id = one.tenant_id AND p.environment = one.environment FOR NO KEY UPDATE;
      ELSE PERFORM FROM policies p WHERE p.tenant_id = one.tenant_id AND p.environment = one.environment FOR SHARE; END IF;
    END LOOP;
  END IF;

  -- A new statement: it sees what is in force as of the locks. Requests of one wallet mostly say the same, which is compared once.
  RETURN (
    SELECT coalesce(array_agg(jsonb_build_object('commit', c.commit, 'outcome', 'policy_changed',
                      'detail', jsonb_build_object('tenant_id', j.tenant_id, 'environment', j.environment))), '{}')
      FROM (SELECT u.tenant_id, u.environment, u.wallet_id, u.policy::text AS policy, array_agg(u.commit) AS commits
              FROM unnest(judged) AS u GROUP BY 1, 2, 3, 4) AS j
     CROSS JOIN LATERAL (SELECT q.active_version, q.shadow_version FROM policies q
                          WHERE q.tenant_id = j.tenant_id AND q.environment = j.environment OFFSET 0) AS p
     CROSS JOIN LATERAL json_to_record(coalesce(j.policy, '{}')::json) AS d(version integer, shadow integer, tags json)
      LEFT JOIN LATERAL (SELECT v.tags FROM wallets v WHERE v.wallet_id = j.wallet_id OFFSET 0) AS w ON true
     CROSS JOIN LATERAL unnest(j.commits) AS c(commit)
     -- What is appended together with a change of what it is judged by would have been judged before it, and have a place behind it.
     WHERE j.tenant_id || '-' || j.environment = ANY (changing)
        OR CASE WHEN p.active_version = 0 AND p.shadow_version = 0 THEN j.policy IS NOT NULL
                ELSE (d.version = p.active_version AND coalesce(d.shadow, 0) = p.shadow_version
                      AND array(SELECT json_array_elements_text(d.tags)) = coalesce(w.tags, '{}')) IS NOT TRUE END);
END $$;

-- As before, with few statements: most counters have their row, and most reservations must fit.
DO $body$
DECLARE
  source text := pg_get_functiondef('refuse_spends(reservation[], jsonb[])'::regprocedure);
  declared CONSTANT text := E'  n integer;\nBEGIN\n';
  behind CONSTANT text := E'  -- A new statement: it sees what was spent as of the locks.\n';
BEGIN
  IF strpos(source, declared) = 0 OR strpos(source, behind) < strpos(source, declared) THEN
    RAISE EXCEPTION 'refuse_spends is not the function of the previous migration';
  END IF;
  EXECUTE left(source, strpos(source, declared) - 1) || $steps$  n integer;
  counters text[];
  is_sound boolean;
  is_exact boolean;
BEGIN
  SELECT array_agg(DISTINCT r.counter) FILTER (WHERE r.must_fit), bool_and(r.must_fit),
         bool_and((r.amount BETWEEN 0 AND 1e90 AND r.kept BETWEEN 0 AND r.amount AND r.width BETWEEN '1 hour' AND '31 days') IS TRUE)
    INTO counters, is_exact, is_sound
    FROM unnest(reserved) AS r;
  IF NOT is_sound THEN RAISE EXCEPTION 'a reservation is no amount of a window' USING ERRCODE = 'invalid_parameter_value'; END IF;
  IF counters IS NULL THEN RETURN refused; END IF;
  IF NOT is_exact THEN reserved := array(SELECT r FROM unnest(reserved) AS r WHERE r.must_fit); END IF;
  -- Nobody deletes a row. Missing ones are inserted before any is locked: in one order, too.
  IF (SELECT count(*) FROM spend_counters c WHERE c.counter = ANY (counters)) < cardinality(counters) THEN
    INSERT INTO spend_counters (counter) SELECT c FROM unnest(counters) AS c ORDER BY 1 ON CONFLICT DO NOTHING;
  END IF;
  PERFORM FROM spend_counters c WHERE c.counter = ANY (counters) ORDER BY c.counter FOR NO KEY UPDATE;

$steps$ || substr(source, strpos(source, behind));
END $body$;

-- As before, if nothing is given back.
DO $body$
DECLARE
  source text := pg_get_functiondef('spend_changes(reservation[], jsonb)'::regprocedure);
  step CONSTANT text := E'BEGIN\n  RETURN (\n';
BEGIN
  IF strpos(source, step) = 0 THEN RAISE EXCEPTION 'spend_changes is not the function of the previous migration'; END IF;
  EXECUTE replace(source, step,
    E'BEGIN\n  IF rows = ''{}'' THEN RETURN array(SELECT (r.counter, r.bucket, r.amount)::spend_change FROM unnest(reserved) AS r); END IF;\n  RETURN (\n');
END $body$;

-- As before, but what no window reaches is looked for only when a counter begins a bucket: a row that is new has no xmax. Nobody compares the
-- time of what need not fit: what a clock says that is ahead would make counters forget what was spent.
CREATE OR REPLACE FUNCTION count_spends(changes spend_change[], reserved reservation[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  begins boolean;
BEGIN
  WITH counted AS (
    INSERT INTO spend_buckets AS b (counter, bucket, spent)
    SELECT c.counter, c.bucket, sum(c.delta) FROM unnest(changes) AS c GROUP BY c.counter, c.bucket HAVING sum(c.delta) <> 0 ORDER BY c.counter, c.bucket
        ON CONFLICT (counter, bucket) DO UPDATE SET spent = b.spent + excluded.spent
    RETURNING b.xmax = 0 AS is_new)
  SELECT bool_or(c.is_new) INTO begins FROM counted AS c;
  IF begins AND reserved IS NOT NULL THEN
    DELETE FROM spend_buckets b USING (
      SELECT s.counter, s.bucket
        FROM (SELECT r.counter, min(CASE WHEN r.must_fit THEN r.bucket ELSE least(r.bucket, coalesce(newest_time(r.chain_id), '-infinity')) END) AS bucket
                FROM unnest(reserved) AS r GROUP BY r.counter) AS a
        JOIN spend_buckets s ON s.counter = a.counter AND s.bucket < a.bucket - interval '32 days' FOR UPDATE OF s SKIP LOCKED) AS old
     WHERE b.counter = old.counter AND b.bucket = old.bucket;
  END IF;
END $$;

-- append_commits asks it before it locks a counter.
DO $body$
DECLARE
  source text;
  step text[];
BEGIN
  FOREACH step SLICE 1 IN ARRAY ARRAY[
    ['append_commits(jsonb, json, jsonb)',
     '  -- Before the holds: commits of other wallets wait for the counter of a limit,',
     '  -- The row of an owner is the lock from its first draft on. That draft waits for all who found no row, and they find it otherwise.' || E'\n' ||
     '  IF ''PolicyDrafted'' = ANY (types) AND EXISTS (SELECT FROM unnest(types, stream_versions) AS e(type, version) WHERE e.type = ''PolicyDrafted'' AND e.version = 1) THEN' || E'\n' ||
     '    LOCK TABLE policies IN EXCLUSIVE MODE;' || E'\n' ||
     '  ELSE' || E'\n' ||
     '    LOCK TABLE policies IN ROW SHARE MODE;' || E'\n' ||
     '  END IF;' || E'\n' ||
     '  IF EXISTS (SELECT FROM policies) THEN' || E'\n' ||
     '    refused := refused || refuse_unjudged(commits, stream_ids, stream_versions, types, all_data, refused);' || E'\n' ||
     '  END IF;' || E'\n\n' ||
     '  -- Before the holds: commits of other wallets wait for the counter of a limit,']]
  LOOP
    source := pg_get_functiondef(step[1]::regprocedure);
    IF strpos(source, step[2]) = 0 THEN RAISE EXCEPTION '% is not the function of the previous migration', step[1]; END IF;
    EXECUTE replace(source, step[2], step[3]);
  END LOOP;
END $body$;

-- What wallets sent in transactions that the log does not have: few of all transfers.
CREATE INDEX transfers_sent_by_others ON observed_transfers (observed_at, transfer_id) WHERE direction = 'out' AND transaction_id IS NULL;
CREATE INDEX outside_transactions_by_hash ON outside_transactions (chain_id, address, hash);
