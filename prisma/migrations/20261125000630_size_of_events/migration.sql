-- An event has at most 32 MiB, twice what a request may have: each reader has to hold it in memory, with its text and its hash.

-- As before, with that limit.
DO $body$
DECLARE
  append CONSTANT text := pg_get_functiondef('append_commits(jsonb, json, jsonb)'::regprocedure);
  content_check CONSTANT text := 'AND strpos(x.hashed, E''\n'') = 0';
BEGIN
  IF strpos(append, content_check) = 0 THEN RAISE EXCEPTION 'append_commits is another one than expected'; END IF;
  EXECUTE replace(append, content_check, 'AND octet_length(x.hashed) <= 33554432 ' || content_check);
END $body$;
