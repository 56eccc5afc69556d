/** What each role may append, lease and report as, and which functions it may call: the content of `role_rights`. */

import { DATABASE_ROLES, type DatabaseRole, groupRole } from '../../core/database-roles.ts'
import type { RowDeclaration } from '../../core/declaration.ts'
import { PROCESS_LIST, type ProcessRights } from '../../core/processes.ts'
import type { Table } from '../../core/registry.ts'
import { STREAMS, TASK_NAMES } from '../../declarations.ts'
import { ALL_AGGREGATES } from '../capabilities.ts'

type RoleTerms = Pick<ProcessRights, 'leases' | 'checkpoints' | 'queues' | 'sessions' | 'requests' | 'locks'> & {
  /** Rows that an append includes besides those derived from its events. */
  readonly rows: readonly Table[]
  /** The names under which it writes heartbeats: patterns of LIKE. */
  readonly processes: readonly string[]
}

const OF_REQUESTS: readonly Table[] = ['idempotency_keys']

/** The operator commands accept requests too, and take no lease. */
const OPERATOR: RoleTerms = {
  rows: OF_REQUESTS,
  leases: [],
  processes: [],
  queues: true,
  sessions: true,
  locks: ['lock_checkpoints()', 'try_lock_rotations()'],
}

export const ROLE_TERMS = {
  ...Object.fromEntries(PROCESS_LIST.map((declared) => [declared.databaseRole, termsOf(declared)])),
  operator: OPERATOR,
} as Readonly<Record<DatabaseRole, RoleTerms>>

function termsOf({ kind, numbered, rights }: (typeof PROCESS_LIST)[number]): RoleTerms {
  return {
    ...rights,
    rows: rights.acceptsRequests ? OF_REQUESTS : [],
    leases: rights.repeatsTasks ? [...rights.leases, ...TASK_NAMES] : rights.leases,
    processes: [numbered ? `${kind}-%` : kind],
  }
}

export type RoleRights = {
  /** Its name in PostgreSQL. */
  readonly role: string
  /** `<category>:<type>` */
  readonly events: readonly string[]
  /** The newest schema version of each of `events`. */
  readonly schema_versions: readonly number[]
  readonly tables: readonly string[]
  readonly leases: readonly string[]
  readonly processes: readonly string[]
  readonly functions: readonly string[]
}

const NEWEST_VERSIONS: ReadonlyMap<string, number> = new Map(
  ALL_AGGREGATES.flatMap(({ category, schemas }) =>
    Object.entries<{ readonly version: number }>(schemas).map(([type, { version }]) => [
      `${category}:${type}`,
      version,
    ]),
  ),
)

/** One entry for each role. */
export function roleRights(): readonly RoleRights[] {
  return DATABASE_ROLES.map((role) => {
    const { rows, leases, processes, sessions, requests, locks = [] } = ROLE_TERMS[role]
    const writes = Object.entries(STREAMS).flatMap(([category, { rows: follow, events }]) => {
      const types = Object.keys(events).filter((type) => events[type]?.includes(role))
      const tables = Object.keys(follow).filter((table) => types.some((type) => mayWrite(follow[table], type)))
      return types.length === 0 ? [] : [{ events: types.map((type) => `${category}:${type}`), rows: tables }]
    })
    const events = writes.flatMap((item) => item.events)
    const tables = [...new Set([...rows, ...writes.flatMap((item) => item.rows)])].sort()
    return {
      role: groupRole(role),
      events,
      schema_versions: events.map((name) => NEWEST_VERSIONS.get(name) ?? 0),
      tables,
      leases,
      processes,
      functions: [
        ...(writes.length > 0 ? ['append_commits(jsonb, json, jsonb)'] : []),
        ...(leases.length > 0
          ? [
              'acquire_lease(text, text, integer)',
              'renew_lease(text, bigint, integer)',
              'release_lease(text, bigint, boolean)',
            ]
          : []),
        ...(processes.length > 0 ? ['record_heartbeat(text, text, text)', 'remove_heartbeat(text, text)'] : []),
        ...(sessions ? ['open_transactions()'] : []),
        ...(requests ? ['take_requests(text, integer, integer)'] : []),
        ...locks,
      ],
    }
  })
}

function mayWrite(rule: RowDeclaration | undefined, type: string): boolean {
  return typeof rule !== 'object' || !('changes' in rule) || rule.changes[type] !== undefined
}
