/** What the operator commands have. They read only. */
import type { Explained } from '../capability.ts'
import type { Within } from '../cli/command.ts'
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import type { DatabaseFacts } from '../event-log/database-facts.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Job } from '../jobs/queues.ts'
import type { OperatorChain } from './chain-now.ts'
import type { FindingSource } from './for-operators.ts'
import type { Unsound } from './stuck/find-unsound.ts'

export type OperatorContext = Pick<Context, 'pool' | 'clock' | 'config'> & {
  readonly log: Pick<EventLog, 'loadMany' | 'readSound'>
  readonly jobs: Pick<Jobs, 'counts' | 'failed' | 'oldest'>
  /** The back end of the queues. */
  readonly queueBackend: 'PostgreSQL' | 'Redis'
  readonly chains: readonly OperatorChain[]
  /** Queries for unfinished work; the sweeper uses the same ones. */
  readonly sources: readonly {
    readonly name: string
    readonly find: (before: Date, limit: number) => Promise<readonly Job[]>
  }[]
  /** Resources that `explain` reports, beside transactions. */
  readonly explained: readonly Explained[]
  readonly findUnsound: () => Promise<readonly Unsound[]>
  readonly readDatabase: () => Promise<DatabaseFacts>
  /** What capabilities let `stuck` find. */
  readonly findings: readonly FindingSource[]
  /** Parties of the joint keys; empty without mpc wallets. */
  readonly parties: readonly number[]
}

/** A dependency that did not answer, in place of its facts. */
export type Down = { readonly down: string }

export function isDown(fact: unknown): fact is Down {
  return typeof fact === 'object' && fact !== null && 'down' in fact
}

/** The result, or that the dependency is down. @throws errors other than outages */
export async function orDown<T>(question: Promise<T>): Promise<T | Down> {
  try {
    return await question
  } catch (error) {
    if (!(error instanceof Unavailable) && !isConnectionFailure(error) && !isTransient(error)) throw error
    return { down: messageOf(error) }
  }
}

/** A refused connection to several addresses has an empty message: the nested errors have it. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

/** Reports an unavailable database in plain words: its driver's messages do not mention the database. */
export function tellingOutages<Ctx>(within: Within<Ctx>): Within<Ctx> {
  return (task) =>
    within(task).catch((error: unknown) => {
      if (!isConnectionFailure(error)) throw error
      throw new Unavailable('database_unavailable', `The database does not answer: ${messageOf(error)}.`, {
        cause: error,
      })
    })
}
