-- Names that belong to one process: heartbeats of parties, checkpoints of subscriptions. And what a signer may ask of a key.

-- Which database user reports as a process whose role has several, such as mpc-party-1: npm run migrate writes the users that it
-- makes, and the first report binds another.
CREATE TABLE process_logins (
  process text PRIMARY KEY,
  login   text NOT NULL,
  -- Whether npm run migrate made the user for this process.
  is_made boolean NOT NULL
);

CREATE OR REPLACE FUNCTION refuse_process(process_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  may record;
  bound text;
BEGIN
  SELECT * INTO may FROM session_rights();
  IF may.unlimited THEN RETURN; END IF;
  IF process_name LIKE ANY (may.processes) THEN
    IF process_name = ANY (may.processes) THEN RETURN; END IF;
    SELECT l.login INTO bound FROM process_logins l WHERE l.process = process_name;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM process_logins l WHERE l.login = session_user AND l.is_made) THEN
      INSERT INTO process_logins (process, login, is_made) VALUES (process_name, session_user, false) ON CONFLICT DO NOTHING;
      SELECT l.login INTO bound FROM process_logins l WHERE l.process = process_name;
    END IF;
    IF bound = session_user THEN RETURN; END IF;
  END IF;
  RAISE EXCEPTION 'the database user % may not report as the process %', session_user, process_name USING ERRCODE = 'insufficient_privilege';
END $$;

-- The coordinator asks for new shares of a key that has signed often: never for a repair, and not while a refresh is open.
-- The row alone does not say whether one is open: an append may come without it.
CREATE FUNCTION refuse_refresh(stream_ids text[], types text[], all_data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_has_role(session_user, 'bursar_api', 'USAGE') THEN RETURN; END IF;
  PERFORM FROM unnest(stream_ids, types, all_data) AS e(stream_id, type, data)
    LEFT JOIN mpc_keys k ON k.key_id = substr(e.stream_id, 8)
   WHERE e.type = 'MpcSharesRefreshRequested'
     AND (e.data->>'reason' IS DISTINCT FROM 'scheduled' OR e.data->>'party' IS NOT NULL OR k.wallet_id IS NULL OR k.open_refresh IS NOT NULL
          -- The append has written its events: of each two requests an end comes between them.
          OR EXISTS (SELECT FROM (SELECT v.type = 'MpcSharesRefreshRequested' AND lead(v.type) OVER (ORDER BY v.stream_version DESC) = v.type AS repeats
                                    FROM events v WHERE v.stream_id = e.stream_id
                                     AND v.type IN ('MpcSharesRefreshRequested', 'MpcSharesRefreshed', 'MpcSharesRefreshFailed')
                                   ORDER BY v.stream_version DESC LIMIT cardinality(types)) AS newest
                      WHERE newest.repeats));
  IF FOUND THEN
    RAISE EXCEPTION 'the database user % may not request this refresh', session_user USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;
