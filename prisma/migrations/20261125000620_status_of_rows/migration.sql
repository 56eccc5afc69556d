-- A row of a transaction tells no other status than that of its state, and holds no amount that is no number: what is held of an
-- account would never be one again.

-- As statusOf of state.ts.
CREATE FUNCTION status_of(state text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN state IN ('confirmed', 'cancelled') THEN state WHEN state IN ('reverted', 'failed') THEN 'failed' ELSE 'pending' END
$$;

-- As before, with these checks. No amount of a chain has more than 256 bits.
DO $body$
DECLARE
  checks CONSTANT text := pg_get_functiondef(
    'refuse_transactions(jsonb, jsonb, text[], integer[], text[], jsonb[], jsonb[])'::regprocedure);
  state_check CONSTANT text := 'OR coalesce(x->>''state'', state_was) IS DISTINCT FROM state';
BEGIN
  IF strpos(checks, state_check) = 0 THEN RAISE EXCEPTION 'refuse_transactions is another one than expected'; END IF;
  EXECUTE replace(checks, state_check, state_check || E'\n        OR ((is_new OR x ? ''status'') AND x->>''status'' IS DISTINCT FROM status_of(state))'
    || E'\n        OR (is_new AND (x->>''block_number'' IS NOT NULL OR x->>''succeeded'' IS NOT NULL))'
    || E'\n        OR NOT (amount BETWEEN 0 AND 1e78 AND fee BETWEEN 0 AND 1e78)');
END $body$;
