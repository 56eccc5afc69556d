-- Oldest program: 20261124001200_outside_rows_follow_reorgs
-- A database that went back has forgotten the newest fences too, and would give their numbers again: a holder from before, which
-- was paused meanwhile, could then append with the fence of another. Its first fence after each start of the server is a leap of
-- an unpredictable length, so that none is given twice. No clock decides.
CREATE OR REPLACE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  PERFORM refuse_lease(lease_name);
  PERFORM be_durable();
  INSERT INTO leases (name) VALUES (lease_name) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM leases WHERE name = lease_name FOR UPDATE;
  UPDATE leases SET holder = new_holder, wanted = false, server_start = pg_postmaster_start_time(),
                    fence = fence + 1 + CASE WHEN server_start = pg_postmaster_start_time() THEN 0
                                             ELSE floor(random() * 1099511627776)::bigint END, -- below 2^40
                    expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name
     AND (holder IS NULL OR expires_at < clock_timestamp() OR server_start <> pg_postmaster_start_time()
          OR expires_at > clock_timestamp() + 2 * lease_ms * interval '1 millisecond')
  RETURNING fence INTO taken;
  IF taken IS NULL THEN
    UPDATE leases SET wanted = true WHERE name = lease_name AND NOT wanted;
  END IF;
  RETURN taken;
END $$;

-- CREATE OR REPLACE takes these back.
DO $body$
BEGIN
  EXECUTE format('ALTER FUNCTION acquire_lease(text, text, integer) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END $body$;
