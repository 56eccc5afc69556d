/**
 * A process that connects as the owner of the tables, or as a superuser, could write anything if it were compromised.
 * Checked when a process starts, before its work does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../../config.ts'
import type { Kernel } from '../kernel.ts'

/** Interval of tries, ms, while the database is unavailable: the process starts meanwhile, as without this check. */
const RETRY_MS = 5_000

type Ports = Pick<Kernel, 'pool' | 'config' | 'logger'>

/**
 * Logs an error, or refuses to start when roles are required.
 *
 * @param refuse ends a process that had started before the database answered
 * @throws ConfigError that names DATABASE_URL
 */
export async function refuseOwner(ports: Ports, signal: AbortSignal, refuse: (error: ConfigError) => void) {
  const first = await judge(ports)
  if (first === 'unknown') void judgeLater(ports, signal, refuse)
  else if (first !== null) throw first
}

async function judgeLater(ports: Ports, signal: AbortSignal, refuse: (error: ConfigError) => void): Promise<void> {
  while (!signal.aborted) {
    await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined) // The process is stopping.
    const verdict = signal.aborted ? null : await judge(ports)
    if (verdict === 'unknown') continue
    if (verdict !== null) refuse(verdict)
    return
  }
}

/** @returns null when there is nothing to refuse */
async function judge({ pool, config, logger }: Ports): Promise<ConfigError | null | 'unknown'> {
  try {
    const { rows } = await pool.query<{ user: string; owns: boolean | null }>(
      `SELECT session_user AS user, pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = to_regclass('events')), 'MEMBER') AS owns`,
    )
    const [found] = rows
    if (found === undefined || found.owns !== true) return null
    const advice = 'run npm run migrate and connect as a member of the role of this process (docs/database-roles.md)'
    if (config.database.rolesRequired)
      return new ConfigError([
        `DATABASE_URL must not name the owner of the tables or a superuser, which ${found.user} is: ${advice}`,
      ])
    logger.error(
      { database_user: found.user },
      `this process owns the tables of the event log and can change them: ${advice}`,
    )
    return null
  } catch {
    return 'unknown'
  }
}
