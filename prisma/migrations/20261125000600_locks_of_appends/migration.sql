-- What an append locks before it is refused, and what a signer or the dispatcher may ask of a key, however its row looks.

-- Leases of others are refused before their rows are locked: an append of many events takes seconds until the last check.
CREATE FUNCTION refuse_leases(guards jsonb, allowed text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  FOR item IN SELECT jsonb_array_elements(guards->'fences') LOOP
    IF (item->>'name' LIKE ANY (allowed)) IS NOT TRUE THEN
      RAISE EXCEPTION 'the database user % may not use the lease %', session_user, item->>'name' USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
END $$;

-- As before, with that check at the beginning and not at the end.
DO $body$
DECLARE
  append CONSTANT text := pg_get_functiondef('append_commits(jsonb, json, jsonb)'::regprocedure);
  checks CONSTANT text := pg_get_functiondef(
    'refuse_foreign_rows(jsonb, jsonb, text[], text[], integer[], text[], jsonb[], jsonb[])'::regprocedure);
  early CONSTANT text := 'PERFORM refuse_tables(guards, rows, may.tables);';
  late CONSTANT text := substring(checks FROM '  IF guards \? ''fences'' THEN\n.*?END LOOP;\n  END IF;\n');
BEGIN
  IF strpos(append, early) = 0 OR late IS NULL THEN RAISE EXCEPTION 'append_commits is another one than expected'; END IF;
  EXECUTE replace(append, early, early || E'\n    IF guards ? ''fences'' THEN PERFORM refuse_leases(guards, may.leases); END IF;');
  EXECUTE replace(checks, late, '');
END $body$;

-- The coordinator asks for new shares of a key that has signed often: never for a repair, and not while a refresh is open.
-- The row alone does not say whether one is open: an append may come without it.
CREATE OR REPLACE FUNCTION refuse_refresh(stream_ids text[], types text[], all_data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
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
