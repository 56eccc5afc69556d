/**
 * Statements that a database login tries. Each runs in a subtransaction that is rolled back, so an attempt that succeeds
 * changes nothing and the next one finds the same database.
 */
import pg from 'pg'

/** The SQLSTATE of an attempt that was not refused. */
const SUCCEEDED = 'DR000'
const INSUFFICIENT_PRIVILEGE = '42501'

export type Outcome = {
  /** SQLSTATE; `null` for success. */
  readonly code: string | null
  readonly message: string
}

/** A session of a login. A lock that a running test holds must not stop it. */
export async function openSession(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, options: '-c lock_timeout=5s -c statement_timeout=60s' })
  client.on('error', () => undefined) // A test ends the server with the session open.
  await client.connect()
  return client
}

/**
 * @param statements each without parameters
 * @returns one outcome for each statement
 */
export async function attempt(session: pg.ClientBase, statements: readonly string[]): Promise<readonly Outcome[]> {
  const quoted = pg.escapeLiteral(JSON.stringify(statements))
  await session.query(
    `DO ${pg.escapeLiteral(`
    DECLARE
      tried text;
      outcomes jsonb[] := '{}';
    BEGIN
      FOR tried IN SELECT jsonb_array_elements_text(${quoted}) LOOP
        BEGIN
          EXECUTE tried;
          RAISE EXCEPTION USING ERRCODE = '${SUCCEEDED}';
        EXCEPTION WHEN OTHERS THEN
          outcomes := outcomes || jsonb_build_array(SQLSTATE, SQLERRM);
        END;
      END LOOP;
      PERFORM set_config('doors.outcomes', to_jsonb(outcomes)::text, false);
    END`)}`,
  )
  const { rows } = await session.query<{ outcomes: string }>("SELECT current_setting('doors.outcomes') AS outcomes")
  const outcomes = JSON.parse(rows[0]?.outcomes ?? '[]') as [code: string, message: string][]
  return outcomes.map(([code, message]) => ({ code: code === SUCCEEDED ? null : code, message }))
}

/** Whether the login lacked a privilege. */
export function isRefused({ code }: Outcome): boolean {
  return code === INSUFFICIENT_PRIVILEGE
}
