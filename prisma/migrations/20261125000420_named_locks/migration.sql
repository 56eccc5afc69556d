-- The advisory locks that processes use, by name: with any others, one statement of one login fills the lock table of the server,
-- so that nobody can append or connect, or holds up the queues. npm run migrate takes the right to those from everybody.
-- Whoever has one of these locks ends it with pg_advisory_unlock, or with its session.

-- Of checkpoints of the auditor: waits until it is free.
CREATE FUNCTION lock_checkpoints() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_advisory_lock(727073691)
$$;

-- Of rotations of keys: whether it was free.
CREATE FUNCTION try_lock_rotations() RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_try_advisory_lock(727073692)
$$;
