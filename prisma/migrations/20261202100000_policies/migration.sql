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
