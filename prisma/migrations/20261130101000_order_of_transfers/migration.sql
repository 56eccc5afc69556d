-- The transfers of a block are appended in the order of the chain, which is the order in which their events are read. Sorted by the
-- ids of their streams, which are hashes, the deposits of one transaction were told in any order. All other streams stay sorted, so
-- that two writers never wait for each other's rows: streams of transfers have one writer at a time, the follower of their chain.
DO $body$
DECLARE
  source text := pg_get_functiondef('append_commits(jsonb, json, jsonb)'::regprocedure);
  step text[];
BEGIN
  FOREACH step SLICE 1 IN ARRAY ARRAY[
    ['FROM json_to_recordset(new_events) AS n(commit integer, stream_id text, stream_version integer, type text, schema_version integer,',
     'FROM ROWS FROM (json_to_recordset(new_events) AS (commit integer, stream_id text, stream_version integer, type text, schema_version integer,'],
    ['data json, metadata json, recorded_at timestamptz(3), hash text, previous text)' || E'\n' ||
     '           ORDER BY n.stream_id, n.commit, n.stream_version) AS x',
     'data json, metadata json, recorded_at timestamptz(3), hash text, previous text)) WITH ORDINALITY AS n' || E'\n' ||
     '           -- Transfers of a block in the order of the chain: one process at a time writes them.' || E'\n' ||
     '           ORDER BY CASE WHEN starts_with(n.stream_id, ''observed-'') THEN ''observed-'' ELSE n.stream_id END, n.commit,' || E'\n' ||
     '                    CASE WHEN starts_with(n.stream_id, ''observed-'') THEN n.ordinality END, n.stream_version) AS x']]
  LOOP
    IF strpos(source, step[1]) = 0 THEN RAISE EXCEPTION 'append_commits is not the function of the previous migration'; END IF;
    source := replace(source, step[1], step[2]);
  END LOOP;
  EXECUTE source;
END $body$;
