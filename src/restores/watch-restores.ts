/**
 * Looks for evidence that the database went back to an earlier state, at the start of a process and after each start of
 * the database that it notices, and records it.
 *
 * Invariant: a restore of which there is evidence is recorded before this process signs or gives out anything on the
 * restored log. A restart of the server is no evidence.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { DATABASE_EPOCH } from '../event-log/database-epoch.ts'
import type { EventLog } from '../event-log/log.ts'
import { databaseAggregate } from './aggregate.ts'
import type { DatabaseState } from './decider.ts'
import type { DatabaseIdentity, RestoreDetected, SignedState } from './events.ts'

/** The id of the only stream. */
const MAIN = 'main'

export type RestoreState = {
  /** How often there was evidence of a restore. */
  readonly restores: number
  /**
   * The log went back to before its first identity: signatures that it has forgotten may be of a version of Bursar that
   * recorded none.
   */
  readonly untagged: boolean
}

export type WatchRestores = {
  /**
   * Why nothing may be signed on this log; `null` when it may.
   *
   * @param epoch identifies a start of the database; what was found whole is not checked again in the same one
   */
  readonly refusal: (epoch: string) => Promise<string | null>
  /** What is recorded, cached for this start of the database. */
  readonly restoreState: (epoch: string) => Promise<RestoreState>
  /** What is recorded now, by any process, after a check if the database was started since the last one. */
  readonly current: () => Promise<RestoreState>
}

type Checked = { readonly epoch: string; readonly refusal: string | null; readonly state: RestoreState }

/** A signed state of the log that the log does not have. */
type MissingState = SignedState & {
  /** Why nothing may be signed on this log. */
  readonly reason: string
  /** Whether a signed state that the log does have contains the event: then it was recorded before the restore. */
  readonly precedes: (streamId: string, version: number) => Promise<boolean>
}

/**
 * Finds a signed state outside of the database that the log lacks; `null` when there is none.
 *
 * @param epoch identifies a start of the database; the result may be kept for it
 * @throws Unavailable while the log cannot be compared; Conflict for states of another log: nothing was restored then
 */
export type FindMissing = (epoch: string) => Promise<MissingState | null>

/** Signed states of the log that are stored outside of the database. */
type OutsideStates = {
  readonly findMissing: FindMissing
  /** Why a restore would not be noticed, for the log of a process that starts; `null` for nothing. */
  readonly problem: () => Promise<{ readonly path: string; readonly message: string } | null>
}

export function createWatchRestores(ports: {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'load' | 'execute' | 'now'>
  readonly findMissing: FindMissing
  /** Called for evidence that this process has recorded. */
  readonly onDetected: (detected: RestoreDetected['data']) => void
}): WatchRestores {
  const { pool, log, findMissing } = ports
  let last: Checked | null = null
  let running: Promise<Checked> | null = null

  async function check(): Promise<Checked> {
    const { epoch, ...identity } = await readIdentity(pool)
    const missing = await findMissing(epoch)
    const identifiedBefore = (await missing?.precedes(`${databaseAggregate.category}-${MAIN}`, 1)) ?? true
    const state = await record(ports, { identity, missing, identifiedBefore })
    last = { epoch, refusal: missing?.reason ?? null, state }
    return last
  }

  /** Callers at the same time share one check. */
  function checkOnce(): Promise<Checked> {
    running ??= check().finally(() => {
      running = null
    })
    return running
  }

  return {
    async refusal(epoch) {
      if (last?.epoch === epoch && last.refusal === null) return null
      return (await checkOnce()).refusal
    },
    async restoreState(epoch) {
      return last?.epoch === epoch ? last.state : (await checkOnce()).state
    },
    async current() {
      const { epoch } = await readIdentity(pool)
      if (last?.epoch !== epoch) await checkOnce()
      return stateOf((await log.load(databaseAggregate, MAIN)).state)
    },
  }
}

async function record(
  { log, onDetected }: Parameters<typeof createWatchRestores>[0],
  seen: {
    readonly identity: DatabaseIdentity
    readonly missing: SignedState | null
    readonly identifiedBefore: boolean
  },
): Promise<RestoreState> {
  const { identity, identifiedBefore } = seen
  const missing = seen.missing && { size: seen.missing.size, root: seen.missing.root }
  const command = { type: 'Observe', identity, missing, identifiedBefore, now: log.now() } as const
  const metadata = { tenantId: 'system', actor: 'worker:signer' }
  const before = (await log.load(databaseAggregate, MAIN)).state
  const state = await log.execute(databaseAggregate, MAIN, command, { metadata })
  for (const event of databaseAggregate.decide(command, before))
    if (event.type === 'RestoreDetected') onDetected(event.data)
  return stateOf(state)
}

function stateOf({ restores, untagged }: DatabaseState): RestoreState {
  return { restores, untagged }
}

/**
 * Any role may read it. The timeline is that of the log that is being written: `pg_control_checkpoint` shows that of the
 * last checkpoint, which is the old one for minutes after a promotion.
 *
 * @throws Unavailable `database_read_only` for a standby
 */
async function readIdentity(pool: Pool): Promise<DatabaseIdentity & { readonly epoch: string }> {
  const { rows } = await pool.query<{ epoch: string; system: string; timeline: number | null }>({
    name: 'database_identity',
    text: `SELECT ${DATABASE_EPOCH} AS epoch, (SELECT system_identifier::text FROM pg_control_system()) AS system,
                  CASE WHEN NOT pg_is_in_recovery()
                       THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer END AS timeline`,
  })
  const [row] = rows
  if (row === undefined || row.timeline === null)
    throw new Unavailable('database_read_only', 'The database is a standby that was not promoted.')
  return { epoch: row.epoch, systemIdentifier: row.system, timeline: row.timeline }
}

declare module '../capability.ts' {
  interface Capability {
    /** Where signers look for what a restored log lacks. */
    readonly outsideStates?: (ctx: Pick<Context, 'config' | 'pool'>) => OutsideStates
  }
}
