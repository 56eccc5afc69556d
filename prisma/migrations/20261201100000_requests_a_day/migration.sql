-- How many requests a day an API key may make. A process takes a hundredth of the limit at a time and lets requests in from that.

-- What processes have taken, by the day (UTC) of this server's clock and by counter. The day comes first: old ones are deleted by it.
CREATE TABLE api_key_requests (
  day     date NOT NULL,
  counter text NOT NULL,
  taken   integer NOT NULL,
  PRIMARY KEY (day, counter)
);

-- Takes a hundredth of a limit, at least one, and no more than what is left of the day. It only counts up: whoever may call it gets
-- nothing back. `left_ms` is what the day has left after every lock that this waited for.
CREATE FUNCTION take_requests(of_counter text, at_most integer)
RETURNS TABLE (granted integer, left_ms double precision, ends_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  today CONSTANT date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  before integer;
BEGIN
  IF (at_most BETWEEN 1 AND 1000000000 AND length(of_counter) BETWEEN 1 AND 200) IS NOT TRUE THEN
    RAISE EXCEPTION 'not a limit of requests' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- A count that a crash took back would let more in.
  PERFORM be_durable();
  INSERT INTO api_key_requests (day, counter, taken) VALUES (today, of_counter, 0) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    DELETE FROM api_key_requests r USING (
      SELECT o.day, o.counter FROM api_key_requests o WHERE o.day < today - 7 ORDER BY o.day, o.counter LIMIT 100 FOR UPDATE SKIP LOCKED) AS old
     WHERE r.day = old.day AND r.counter = old.counter;
  END IF;
  SELECT r.taken INTO before FROM api_key_requests r WHERE r.day = today AND r.counter = of_counter FOR UPDATE;
  granted := least(greatest(at_most / 100, 1), greatest(at_most - before, 0));
  IF granted > 0 THEN
    UPDATE api_key_requests r SET taken = before + granted WHERE r.day = today AND r.counter = of_counter;
  END IF;
  ends_at := (today + 1)::timestamp AT TIME ZONE 'UTC';
  left_ms := extract(epoch FROM ends_at - clock_timestamp()) * 1000;
  RETURN NEXT;
END $$;

-- SECURITY DEFINER and the path as append_commits; migrate grants it.
DO $body$
DECLARE
  entry CONSTANT regprocedure := 'take_requests(text, integer)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  EXECUTE format('ALTER FUNCTION %s SET lock_timeout = ''1s''', entry);
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', entry);
END $body$;

-- Whether no more can be done with the limits than with the others: each of those is among them, with at most its amount; and what is added is
-- about no asset that any holder of the others leaves out, since a limit of amounts also lets what it is about be spent. A counter begins
-- with its holder. As isWithinLimits of key-limits.ts.
CREATE OR REPLACE FUNCTION are_limits_within(limits jsonb, others jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT NOT EXISTS (SELECT FROM jsonb_array_elements(others) AS o WHERE NOT EXISTS (
           SELECT FROM jsonb_array_elements(limits) AS l
            WHERE l->'counter' = o->'counter' AND l->'windowSeconds' = o->'windowSeconds' AND (l->>'amount')::numeric <= (o->>'amount')::numeric))
     AND NOT EXISTS (
           SELECT FROM jsonb_array_elements(limits) AS l
            CROSS JOIN (SELECT split_part(o->>'counter', ' ', 1) AS name,
                               bool_or(o->>'of' = 'usd') AS is_any, array_agg(o->>'assetId') AS assets
                          FROM jsonb_array_elements(others) AS o WHERE o->>'of' NOT IN ('transactions', 'requests') GROUP BY 1) AS holder
            WHERE l->>'of' NOT IN ('transactions', 'requests')
              AND NOT EXISTS (SELECT FROM jsonb_array_elements(others) AS o WHERE o->'counter' = l->'counter')
              AND (holder.is_any OR (l->>'of' = 'asset' AND l->>'assetId' = ANY (holder.assets))) IS NOT TRUE)
$$;
