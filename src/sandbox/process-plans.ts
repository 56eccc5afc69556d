/** Which processes the sandbox runs, and which settings each of them gets. Secrets go only to the processes that need them. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { PROCESS_LIST, type ProcessDeclaration, type ProcessKind } from '../core/processes.ts'
import { createFileOnce } from '../keys/private-files.ts'
import type { AddedSettings } from './addition.ts'
import { ADDITIONS } from './additions.ts'

export type ProcessPlan = ProcessDeclaration['sandbox'] & {
  readonly name: string
  readonly kind: ProcessKind
  readonly env: Readonly<Record<string, string>>
}

/** Differences from production, unless the user sets them. */
const DEFAULT_ENV = {
  /** A local node drops nothing, and accepts as much as a block can hold. */
  MAX_IN_FLIGHT_PER_LANE: '4000',
  /** More than one process can serve: responses have their `RateLimit-*` headers, and nothing is refused. */
  RATE_LIMIT_PER_SECOND: '100000',
  /** One user on one machine. */
  QUOTA_TRANSACTIONS_WAITING: '0',
  QUOTA_CEREMONIES: '0',
  QUOTA_REQUESTS_IN_FLIGHT: '0',
  QUOTA_BYTES_PER_SECOND: '0',
  QUOTA_QUOTES_PER_SECOND: '0',
  QUOTA_CALLS_PER_SECOND: '0',
  QUOTA_SKIPPED_EVENTS_PER_SECOND: '0',
  QUOTA_BACKTESTED_EVENTS_PER_SECOND: '0',
  LOG_REQUESTS: 'false',
  SWEEP_INTERVAL_MS: '3000',
  REBROADCAST_AFTER_MS: '5000',
  REPLACE_AFTER_MS: '30000',
  LEASE_MS: '3000',
  /** So that users see checkpoints soon. */
  AUDIT_CHECKPOINT_INTERVAL_MS: '30000',
  /** Fewer arenas of the C library: a process uses a fifth less memory. */
  MALLOC_ARENA_MAX: '2',
} as const
/** The processes with the settings that only some of them get, and the settings of all. */
export async function planProcesses(config: Config, env: NodeJS.ProcessEnv) {
  const added = await planAdditions(config)
  const tagKey = await planTagKey(config.dataDir, env)
  /** Others than these the processes make, or find in their default places. */
  const secretsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    TRANSACTION_TAG_KEY: tagKey,
    ...added.secrets,
  }
  const plans = PROCESS_LIST.flatMap(({ kind, numbered, secrets, sandbox }): readonly ProcessPlan[] => {
    const names = numbered ? (added.numbered[kind] ?? []) : [{ name: kind, env: {} }]
    const given = Object.assign({}, ...Object.keys(secrets).map((setting) => secretsOf[setting]))
    return names.map(({ name, env }) => ({ ...sandbox, name, kind, env: { ...env, ...given } }))
  })
  return { plans, ownSettings: { ...DEFAULT_ENV, ...added.env }, tagKey }
}

async function planAdditions(config: Config): Promise<Required<AddedSettings>> {
  const planned: AddedSettings[] = []
  for (const { isOn, settings } of ADDITIONS)
    if (settings !== undefined && isOn?.(config) !== false) planned.push(await settings(config))
  return {
    env: Object.assign({}, ...planned.map(({ env }) => env)),
    secrets: Object.assign({}, ...planned.map(({ secrets }) => secrets)),
    numbered: Object.assign({}, ...planned.map(({ numbered }) => numbered)),
  }
}

/** The key of tags, which the first start creates; nothing if the user has set one. */
async function planTagKey(dataDir: string, env: NodeJS.ProcessEnv): Promise<Readonly<Record<string, string>>> {
  if (env.TRANSACTION_TAG_KEY || env.TRANSACTION_TAG_KEY_FILE) return {}
  const file = join(dataDir, 'transaction-tag.key')
  await createFileOnce(file, `${randomBytes(32).toString('base64')}\n`)
  return { TRANSACTION_TAG_KEY_FILE: file }
}
