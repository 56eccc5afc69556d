/**
 * In SQL: another text after each start of the server, and after a restore into it. What was read under another one may be of
 * events that the database has forgotten.
 */
export const DATABASE_EPOCH = `concat_ws(' ', pg_postmaster_start_time(), 'events'::regclass::oid)`
