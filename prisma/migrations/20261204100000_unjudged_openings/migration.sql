-- Which events open a transaction that no policy judges: the declarations say it, and npm run migrate writes this function from them.
CREATE FUNCTION unjudged_openings() RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY['NonceFillRequested', 'CheckpointAnchorRequested', 'SwapGuardDeployRequested']::text[]
$$;

DO $body$
DECLARE
  source text := pg_get_functiondef('refuse_unjudged(integer[], text[], integer[], text[], jsonb[], jsonb[])'::regprocedure);
  named CONSTANT text := $s$u.type NOT IN ('NonceFillRequested', 'CheckpointAnchorRequested', 'SwapGuardDeployRequested')$s$;
BEGIN
  IF strpos(source, named) = 0 THEN RAISE EXCEPTION 'refuse_unjudged is not the function of the previous migration'; END IF;
  EXECUTE replace(source, named, '(u.type = ANY (unjudged_openings())) IS NOT TRUE');
END $body$;
