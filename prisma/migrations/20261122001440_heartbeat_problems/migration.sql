-- A process that lives and cannot do its work says so with its heartbeat: a signer whose keystore is not the one that made the wallets.
ALTER TABLE heartbeats ADD COLUMN problem text;

DROP FUNCTION record_heartbeat(text, text);
-- Records that a process lives, and what stands in its way.
CREATE FUNCTION record_heartbeat(process_name text, instance_name text, what_is_wrong text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_process(process_name);
  INSERT INTO heartbeats (process, instance, beat_at, problem)
    VALUES (process_name, instance_name, clock_timestamp(), left(what_is_wrong, 1000))
    ON CONFLICT (process, instance) DO UPDATE SET beat_at = excluded.beat_at, problem = excluded.problem;
END $$;

DO $body$
DECLARE
  entry CONSTANT regprocedure := 'record_heartbeat(text, text, text)';
BEGIN
  EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', entry, current_schema());
  EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', entry);
END $body$;
