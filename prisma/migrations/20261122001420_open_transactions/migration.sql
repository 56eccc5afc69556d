-- Readers of the log wait for every transaction of the server that may still write, in whichever database: those that have a
-- transaction id, and prepared ones. The process roles may not see the sessions of others in pg_stat_activity; this function shows
-- them what the owner of the tables sees, of such transactions alone, the oldest first. What the owner may not see is NULL.
CREATE FUNCTION open_transactions() RETURNS TABLE (
  pid integer, prepared text, database text, "user" text, application text, state text, query text, age_ms double precision, seen_as text
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT t.pid, t.prepared, t.database, t."user", t.application, t.state, t.query,
         extract(epoch FROM clock_timestamp() - t.since)::double precision * 1000, current_user::text
    FROM (SELECT a.pid, NULL::text AS prepared, a.datname::text AS database, a.usename::text AS "user", a.application_name AS application, a.state,
                 -- Without a state the query is a note that it is hidden.
                 CASE WHEN a.state IS NOT NULL THEN left(a.query, 200) END AS query, a.xact_start AS since, a.backend_xid AS xid
            FROM pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
          UNION ALL
          SELECT NULL, p.gid, p.database::text, p.owner::text, NULL, 'prepared', NULL, p.prepared, p.transaction
            FROM pg_prepared_xacts p) AS t
   ORDER BY age(t.xid) DESC
$$;
