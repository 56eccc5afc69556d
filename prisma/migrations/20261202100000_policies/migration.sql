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
  short integer[] := array(SELECT (r->>'commit')::integer FROM unnest(already_refused) AS r);
  judged judged_request[];
  changing text[];
  one record;
BEGIN
  -- What moves nothing (opening-rules.ts) and no API key requests is judged by nobody.
  SELECT array_agg((e.commit, p.tenant_id, p.environment, d."walletId", d.policy)::judged_request) INTO judged
    FROM unnest(commits, stream_ids, stream_versions, types, all_data) AS e(commit, stream_id, version, type, data)
   CROSS JOIN LATERAL json_to_record(e.data) AS d("walletId" text, "tenantId" text, environment text, "issuedBy" text, policy json)
    LEFT JOIN LATERAL (SELECT w.tenant_id, w.environment FROM wallets w WHERE w.wallet_id = d."walletId" OFFSET 0) AS w ON true
    LEFT JOIN LATERAL (SELECT k.tenant_id, k.environment FROM api_keys k
                        WHERE e.type = 'ApiKeyChanged' AND k.key_id = substr(e.stream_id, length('apikey-') + 1) OFFSET 0) AS k ON true
   CROSS JOIN LATERAL (SELECT q.tenant_id, q.environment FROM policies q
                        WHERE q.tenant_id = coalesce(w.tenant_id, k.tenant_id, d."tenantId")
                          AND q.environment = coalesce(w.environment, k.environment, d.environment) OFFSET 0) AS p
   WHERE e.commit <> ALL (short)
     AND CASE split_part(e.stream_id, '-', 1)
           WHEN 'transaction' THEN e.version = 1 AND e.type NOT IN ('NonceFillRequested', 'CheckpointAnchorRequested', 'SwapGuardDeployRequested')
           WHEN 'signature' THEN e.version = 1
           WHEN 'export' THEN e.version = 1
           WHEN 'foundspend' THEN e.version = 1
           WHEN 'apikey' THEN e.type = 'ApiKeyChanged' OR (e.type = 'ApiKeyIssued' AND d."issuedBy" IS NOT NULL)
           WHEN 'mint' THEN e.type = 'VoucherRequested'
           ELSE false END;

  -- The names of streams: both environments have seven letters.
  SELECT array_agg(DISTINCT coalesce(w.tenant_id || '-' || w.environment, substr(e.stream_id, length('policy-') + 1))) INTO changing
    FROM unnest(stream_ids, types) AS e(stream_id, type)
    LEFT JOIN LATERAL (SELECT v.tenant_id, v.environment FROM wallets v
                        WHERE e.type = 'WalletTagged' AND v.wallet_id = substr(e.stream_id, length('wallet-') + 1) OFFSET 0) AS w ON true
   WHERE starts_with(e.stream_id, 'policy-') OR w.tenant_id IS NOT NULL;

  IF changing IS NULL THEN
    IF judged IS NULL THEN RETURN '{}'; END IF;
    PERFORM FROM (SELECT DISTINCT j.tenant_id, j.environment FROM unnest(judged) AS j ORDER BY 1, 2) AS o
     CROSS JOIN LATERAL (SELECT FROM policies p WHERE p.tenant_id = o.tenant_id AND p.environment = o.environment FOR SHARE) AS p;
  ELSE
    FOR one IN SELECT o.tenant_id, o.environment, bool_or(o.alone) AS alone
                 FROM (SELECT j.tenant_id, j.environment, false AS alone FROM unnest(judged) AS j
                        UNION ALL SELECT left(c, length(c) - length('-testnet')), right(c, length('testnet')), true FROM unnest(changing) AS c) AS o
                GROUP BY 1, 2 ORDER BY 1, 2 LOOP
      IF one.alone THEN PERFORM FROM policies p WHERE p.tenant_id = one.tenant_id AND p.environment = one.environment FOR NO KEY UPDATE;
      ELSE PERFORM FROM policies p WHERE p.tenant_id = one.tenant_id AND p.environment = one.environment FOR SHARE; END IF;
    END LOOP;
  END IF;

  -- A new statement: it sees what is in force as of the locks.
  RETURN (
    SELECT coalesce(array_agg(jsonb_build_object('commit', j.commit, 'outcome', 'policy_changed',
                      'detail', jsonb_build_object('tenant_id', j.tenant_id, 'environment', j.environment))), '{}')
      FROM unnest(judged) AS j
     CROSS JOIN LATERAL (SELECT q.active_version, q.shadow_version FROM policies q
                          WHERE q.tenant_id = j.tenant_id AND q.environment = j.environment OFFSET 0) AS p
     CROSS JOIN LATERAL json_to_record(coalesce(j.policy, '{}')) AS d(version integer, shadow integer, tags json)
      LEFT JOIN LATERAL (SELECT v.tags FROM wallets v WHERE v.wallet_id = j.wallet_id OFFSET 0) AS w ON true
     WHERE CASE WHEN p.active_version = 0 AND p.shadow_version = 0 THEN j.policy IS NOT NULL
                ELSE (d.version = p.active_version AND coalesce(d.shadow, 0) = p.shadow_version
                      AND array(SELECT json_array_elements_text(d.tags)) = coalesce(w.tags, '{}')) IS NOT TRUE END);
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
     '  -- Before the holds: commits of other wallets wait for the counter of a limit,'],
    ['refuse_spends(reservation[], jsonb[])',
     '  INSERT INTO spend_counters (counter)',
     '  reserved := array(SELECT r FROM unnest(reserved) AS r WHERE r.must_fit);' || E'\n' ||
     '  INSERT INTO spend_counters (counter)'],
    -- Nobody compares the time of what need not fit: what a clock says that is ahead would make counters forget what was spent.
    ['count_spends(spend_change[], reservation[])',
     'min(r.bucket) AS bucket FROM',
     'min(CASE WHEN r.must_fit THEN r.bucket ELSE least(r.bucket, coalesce(newest_time(r.chain_id), ''-infinity'')) END) AS bucket FROM']]
  LOOP
    source := pg_get_functiondef(step[1]::regprocedure);
    IF strpos(source, step[2]) = 0 THEN RAISE EXCEPTION '% is not the function of the previous migration', step[1]; END IF;
    EXECUTE replace(source, step[2], step[3]);
  END LOOP;
END $body$;

-- What wallets sent in transactions that the log does not have: few of all transfers.
CREATE INDEX transfers_sent_by_others ON observed_transfers (observed_at, transfer_id) WHERE direction = 'out' AND transaction_id IS NULL;
CREATE INDEX outside_transactions_by_hash ON outside_transactions (chain_id, address, hash);
