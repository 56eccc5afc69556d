-- A lease that ends later than any lease can was written before the database's clock was set back: it is as good as
-- expired. Else whoever died with it would keep it for as long as the clock was set back. Twice the time of a lease leaves
-- room for processes that are configured with different ones; the fence keeps the rest.
CREATE OR REPLACE FUNCTION acquire_lease(lease_name text, new_holder text, lease_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
BEGIN
  INSERT INTO leases (name) VALUES (lease_name) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM leases WHERE name = lease_name FOR UPDATE;
  UPDATE leases SET holder = new_holder, fence = fence + 1, wanted = false,
                    expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
   WHERE name = lease_name
     AND (holder IS NULL OR expires_at < clock_timestamp()
          OR expires_at > clock_timestamp() + 2 * lease_ms * interval '1 millisecond')
  RETURNING fence INTO taken;
  IF taken IS NULL THEN
    UPDATE leases SET wanted = true WHERE name = lease_name AND NOT wanted;
  END IF;
  RETURN taken;
END $$;
