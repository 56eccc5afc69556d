/**
 * Every declaration, and what follows from all of them: ids, scopes, tables, streams and queues; their types are those of
 * `core/registry.ts`. A new capability is one line in the list here and one in `compose/capabilities.ts`.
 */
import { access } from './access/declaration.ts'
import { activity } from './activity/declaration.ts'
import { assets } from './assets/declaration.ts'
import { audit } from './audit/declaration.ts'
import { balances } from './balances/declaration.ts'
import { contractCalls } from './contract-calls/declaration.ts'
import {
  type Declaration,
  type QueueLimits,
  type ReadModelKind,
  type StreamDeclaration,
  type TableDeclaration,
  WHOLE_ROW,
} from './core/declaration.ts'
import { mapValues, merged } from './core/map-values.ts'
import type {
  Catalogue,
  Declared,
  DeclaredQuotas,
  FindingKind,
  IdKind,
  QueueName,
  ReadModel,
  Scope,
  SubjectType,
  Table,
  TaskName,
} from './core/registry.ts'
import type { ScopeTerms } from './core/scopes.ts'
import { eventLog } from './event-log/declaration.ts'
import { feed } from './feed/declaration.ts'
import { follower } from './follower/declaration.ts'
import { http } from './http/declaration.ts'
import { keys } from './keys/declaration.ts'
import { mpcKeys } from './mpc-wallets/declaration.ts'
import { nft } from './nft/declaration.ts'
import { operator } from './operator/declaration.ts'
import { policies } from './policies/declaration.ts'
import { recovery } from './recovery/declaration.ts'
import { restores } from './restores/declaration.ts'
import { signatures } from './signatures/declaration.ts'
import { swaps } from './swaps/declaration.ts'
import { transactions } from './transactions/declaration.ts'
import { type Kinds, nameKinds } from './transactions/kinds.ts'
import { wallets } from './wallets/declaration.ts'
import { webhooks } from './webhooks/declaration.ts'

/** In the order in which help texts list their scopes and queues. */
const DECLARATIONS: Declared = {
  wallets,
  transactions,
  'contract-calls': contractCalls,
  signatures,
  swaps,
  assets,
  balances,
  activity,
  nft,
  keys,
  'mpc-wallets': mpcKeys,
  recovery,
  audit,
  feed,
  access,
  policies,
  webhooks,
  follower,
  restores,
  'event-log': eventLog,
  http,
  operator,
}

const ALL: readonly Declaration[] = Object.values(DECLARATIONS)

/** Kinds of ids with their prefixes. @throws Error when two capabilities declare the same name, here and below */
export const ID_PREFIXES = merged(ALL.map(({ ids }) => ids)) as Readonly<Record<IdKind, string>>

/** What an API key may do. */
export const SCOPE_RULES = merged(ALL.map(({ scopes }) => scopes)) as Readonly<Record<Scope, ScopeTerms>>

export const SCOPES = Object.keys(SCOPE_RULES) as readonly Scope[]

/** Every table of `prisma/schema.prisma`. */
export const TABLES = merged(ALL.map(({ tables }) => tables)) as Readonly<Record<Table, TableDeclaration>>

/** The folder that owns each table: SQL elsewhere uses what `sql.ts` of that folder exports. */
export const TABLE_OWNERS = merged(
  ALL.map(({ name, tables = {} }) => Object.fromEntries(Object.keys(tables).map((table) => [table, name]))),
) as Readonly<Record<Table, string>>

/** How the rows of each read model are derived from streams. */
export const READ_MODELS = Object.fromEntries(
  Object.entries(TABLES).flatMap(([name, table]) => ('follows' in table ? [[name, table.follows]] : [])),
) as Readonly<Record<ReadModel, ReadModelKind>>

export const READ_MODEL_NAMES = Object.keys(READ_MODELS).sort() as readonly ReadModel[]

/** The events that open transactions. */
export const OPENINGS = merged(ALL.map(({ openings }) => openings)) as Kinds

/** The type of the transaction that each of them opens. */
export const TRANSACTION_TYPES = mapValues(OPENINGS, ({ type }) => type)

nameKinds(
  OPENINGS,
  ALL.flatMap(({ subjects = [] }) => subjects) as readonly SubjectType[],
  ALL.flatMap(({ intentParts = [] }) => intentParts),
)

/** Every category of streams. */
export const STREAMS: Readonly<Record<string, StreamDeclaration>> = {
  ...merged<StreamDeclaration>(ALL.map(({ streams }) => streams)),
  transaction: withOpenings(transactions.streams.transaction),
}

export const CATALOGUE: Catalogue = {
  scopes: SCOPE_RULES,
  streams: STREAMS,
  errors: ALL.flatMap(({ errors = [] }) => errors),
  tags: Object.entries(merged(ALL.map(({ tags }) => tags)))
    .sort(([, a], [, b]) => a.place - b.place)
    .map(([name, { description }]) => ({ name, description })),
  quotas: Object.fromEntries(
    Object.entries(merged(ALL.map(({ quotas }) => quotas))).sort(([, a], [, b]) => a.place - b.place),
  ) as DeclaredQuotas,
  findings: merged(
    ALL.flatMap(({ findings = [] }) => findings)
      .sort((a, b) => a.place - b.place)
      .map(({ kinds }) => kinds),
  ) as Readonly<Record<FindingKind, string>>,
  metrics: {
    counters: merged(ALL.map(({ counters }) => counters)),
    timers: merged(ALL.map(({ timers }) => timers)),
    levels: merged(ALL.map(({ levels }) => levels)),
  },
}

/** Every queue with its limits. The queue back end creates a queue on first use. */
export const QUEUE_LIMITS = merged(
  ALL.map(({ queues = {} }) =>
    Object.fromEntries(
      Object.entries(queues).flatMap(([name, { limits, mpcLimits }]) => [
        [name, limits],
        ...(mpcLimits === undefined ? [] : [[`mpc-${name}`, mpcLimits]]),
      ]),
    ),
  ),
) as Readonly<Record<QueueName, QueueLimits>>

export const QUEUE_NAMES = Object.keys(QUEUE_LIMITS) as readonly QueueName[]

/** The tasks that dispatchers repeat. */
export const TASK_NAMES = ALL.flatMap(({ tasks = [] }) => tasks) as readonly TaskName[]

/** The queue for work of an mpc key: its own where the queue has one. */
export function mpcQueue(queue: QueueName): QueueName {
  return QUEUE_NAMES.find((name) => name === `mpc-${queue}`) ?? queue
}

function withOpenings({ rows, ...stream }: typeof transactions.streams.transaction): StreamDeclaration {
  const { of, changes } = rows.transactions
  return {
    ...stream,
    events: merged([mapValues(OPENINGS, ({ writers }) => writers), stream.events]),
    rows: { ...rows, transactions: { of, changes: { ...mapValues(OPENINGS, () => WHOLE_ROW), ...changes } } },
  }
}
