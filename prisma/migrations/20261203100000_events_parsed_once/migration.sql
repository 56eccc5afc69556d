-- The append parses the data of an event once. Each of its functions did: for a request with three limits most of what its limits cost.

ALTER TYPE judged_request ALTER ATTRIBUTE policy SET DATA TYPE jsonb;

DO $body$
DECLARE
  changed record;
  step text[];
  source text;
BEGIN
  FOR changed IN
    SELECT * FROM (VALUES
      ('refuse_keys(text[], integer[], text[], json[], json[])', '{}'::text[][]),
      ('refuse_transactions(jsonb, jsonb, text[], integer[], text[], json[], json[])', '{}'),
      ('refuse_foreign_rows(jsonb, jsonb, text[], integer[], text[], json[], json[])', ARRAY[['all_data::jsonb[]', 'all_data']]),
      ('seeded_in(text[], text[], json[])', ARRAY[['json_to_recordset(', 'jsonb_to_recordset(']]),
      ('reservations_in(integer[], text[], integer[], json[])',
       ARRAY[['json_to_record(', 'jsonb_to_record('], ['reservations json)', 'reservations jsonb)'], ['json_to_recordset(', 'jsonb_to_recordset(']]),
      ('refuse_unjudged(integer[], text[], integer[], text[], json[], jsonb[])',
       ARRAY[['json_to_record(e.data)', 'jsonb_to_record(e.data)'], ['"issuedBy" text, policy json)', '"issuedBy" text, policy jsonb)'],
             ['u.policy::text AS policy', 'u.policy'],
             -- A function for each group costs as much as all else of the comparison.
             [E'     CROSS JOIN LATERAL json_to_record(coalesce(j.policy, ''{}'')::json) AS d(version integer, shadow integer, tags json)\n', ''],
             ['d.version = p.active_version AND coalesce(d.shadow, 0) = p.shadow_version',
              '(j.policy->>''version'')::integer = p.active_version AND coalesce((j.policy->>''shadow'')::integer, 0) = p.shadow_version'],
             ['array(SELECT json_array_elements_text(d.tags)) = coalesce(w.tags, ''{}'')', 'j.policy->''tags'' = to_jsonb(coalesce(w.tags, ''{}''))']])) AS v(name, steps)
  LOOP
    source := pg_get_functiondef(changed.name::regprocedure);
    FOREACH step SLICE 1 IN ARRAY changed.steps || ARRAY[['all_data json[]', 'all_data jsonb[]']] LOOP
      IF strpos(source, step[1]) = 0 THEN RAISE EXCEPTION '% is not the function of the previous migration', changed.name; END IF;
      source := replace(source, step[1], step[2]);
    END LOOP;
    EXECUTE source;
    EXECUTE format('DROP FUNCTION %s', changed.name);
  END LOOP;

  -- The text is what hashes are over: it is what is stored, and events that follow one of the same append are compared by it.
  source := pg_get_functiondef('append_commits(jsonb, json, jsonb)'::regprocedure);
  FOREACH step SLICE 1 IN ARRAY ARRAY[
    [E'  all_data json[];\n', E'  texts json[];\n  all_data jsonb[];\n'],
    ['array_agg(x.schema_version), array_agg(x.data),', 'array_agg(x.schema_version), array_agg(x.data), array_agg(x.data::jsonb),'],
    ['schema_versions, all_data, all_metadata, times, hashes, environments, conflicts,', 'schema_versions, texts, all_data, all_metadata, times, hashes, environments, conflicts,'],
    [E'schema_versions, all_data, all_metadata, times, hashes)\n', E'schema_versions, texts, all_metadata, times, hashes)\n'],
    ['schema_versions, all_data, all_metadata, times, hashes, environments);', 'schema_versions, texts, all_metadata, times, hashes, environments);']]
  LOOP
    IF strpos(source, step[1]) = 0 THEN RAISE EXCEPTION 'append_commits is not the function of the previous migration'; END IF;
    source := replace(source, step[1], step[2]);
  END LOOP;
  EXECUTE source;
END $body$;

-- Compressing a row costs the append more than its insertion. Events of 2 to 4 KB, such as requests with several limits, are stored as they are.
ALTER TABLE events SET (toast_tuple_target = 4080);
