/**
 * A process uses only a database that fits it: the schema is one that it runs with, and new events come after the log that
 * is there. It reports a database that is not durable. Checked at the start and every minute while it runs.
 *
 * Invariant: a process that starts while the database is unavailable is checked as soon as it answers.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../config.ts'
import { type BursarError, Unavailable } from '../core/errors.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import { type DatabaseFacts, readDatabaseFacts, weaknessOf } from '../event-log/database-facts.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Kernel } from './kernel.ts'

/** `retryMs`: while the database does not answer. A migration or a restore shows within `everyMs`, for one small statement. */
const INTERVALS = { retryMs: 1_000, everyMs: 60_000 }

type Refusal = BursarError | ConfigError

/**
 * Resolves after the first check. Without an answer of the database the process starts, and is checked later.
 *
 * @param refuse ends the process, which has started
 * @throws Conflict `schema_too_new`, `schema_too_old`, `log_ids_behind`
 * @throws ConfigError that names DATABASE_URL when the user owns the tables and DATABASE_ROLES is `required`
 */
export async function checkDatabase(
  kernel: Pick<Kernel, 'pool' | 'config' | 'logger'>,
  signal: AbortSignal,
  refuse: (error: Refusal) => void,
  { retryMs, everyMs } = INTERVALS,
): Promise<void> {
  const judge = createJudge(kernel)
  const first = await judge()
  if (first !== null && first !== 'unknown') throw first
  const checkAgain = async () => {
    for (let verdict: Verdict = first; ; ) {
      await delay(verdict === 'unknown' ? retryMs : everyMs, undefined, { signal, ref: false })
      verdict = await judge()
      if (verdict !== null && verdict !== 'unknown') return refuse(verdict)
    }
  }
  void checkAgain().catch(() => undefined) // The process is stopping.
}

/**
 * What a process must read or record before it works: tried again until the database answers.
 *
 * @throws what `work` throws for another reason, and AbortError when the process is stopping
 */
export async function whenDatabaseAnswers<T>(
  { logger }: Pick<Kernel, 'logger'>,
  signal: AbortSignal,
  work: () => Promise<T>,
  retryMs = INTERVALS.retryMs,
): Promise<T> {
  for (let waits = false; ; waits = true) {
    try {
      return await work()
    } catch (error) {
      if (!isConnectionFailure(error) && !isTransient(error) && !saysDatabaseDown(error)) throw error
      if (!waits) logger.error({ err: error }, 'the database is not available; the process waits for it')
    }
    await delay(retryMs, undefined, { signal })
  }
}

function saysDatabaseDown(error: unknown): boolean {
  return error instanceof Unavailable && error.code.startsWith('database_')
}

/** For commands. @throws as `checkDatabase`, and database errors */
export async function requireFittingDatabase(pool: Kernel['pool']): Promise<void> {
  const { refusal } = await readDatabaseFacts(pool)
  if (refusal !== null) throw refusal
}

/** The check `database` of `/readyz`. */
export function databaseReadiness(pool: Kernel['pool']): ReadinessCheck {
  return {
    name: 'database',
    check: () => requireFittingDatabase(pool),
    warning: async () => weaknessOf(await readDatabaseFacts(pool)),
  }
}

type Verdict = Refusal | null | 'unknown'

/** Logs what is wrong and does not prevent work, once for each change. */
function createJudge({ pool, config, logger }: Pick<Kernel, 'pool' | 'config' | 'logger'>): () => Promise<Verdict> {
  let logged: string | null = null
  let loggedOwner = false
  return async () => {
    let facts: DatabaseFacts
    try {
      facts = await readDatabaseFacts(pool)
    } catch {
      return 'unknown'
    }
    const weakness = weaknessOf(facts)
    if (weakness !== logged && weakness !== null) logger.error({ settings: facts.weak }, weakness)
    logged = weakness
    if (facts.refusal !== null || !facts.owns) return facts.refusal
    const advice = 'run npm run migrate and connect as a member of the role of this process (docs/database-roles.md)'
    if (config.database.rolesRequired)
      return new ConfigError([
        `DATABASE_URL must not name the owner of the tables or a superuser, which ${facts.user} is: ${advice}`,
      ])
    if (!loggedOwner)
      logger.error(
        { database_user: facts.user },
        `this process owns the tables of the event log and can change them: ${advice}`,
      )
    loggedOwner = true
    return null
  }
}
