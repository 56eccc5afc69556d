/**
 * SQL expression whose value changes with each start of the server and with a restore into it. Data read under another
 * value may come from events that the database no longer has.
 */
export const DATABASE_EPOCH = `concat_ws(' ', pg_postmaster_start_time(), 'events'::regclass::oid)`
