/**
 * The contents of an append and the errors of a refused one. A commit is atomic: all its streams, holds and read-model
 * rows are written, or none.
 */
import { BursarError, Unavailable } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import type { Decision, HoldChange, ReadModelRow } from './aggregate.ts'

/** Conditions that the database checks in the transaction of the append. */
export type Guards = {
  /** The lease must still belong to this holder. */
  readonly fence?: { readonly name: string; readonly fence: bigint }
  /** The client's key must be new. */
  readonly idempotency?: {
    readonly tenantId: string
    readonly key: string
    readonly fingerprint: string
    readonly resourceId: string
  }
  readonly wallet?: { readonly walletId: string; readonly require: 'active' | 'idle' }
  /** Transactions that this commit records as signed: it must not be later than they are valid. */
  readonly deadlines?: readonly string[]
}

export type Commit = {
  readonly decisions: readonly Decision[]
  readonly guards?: Guards
  /** Rows that belong to no stream: the follower's cursor and the blocks that it processed. */
  readonly rows?: readonly ReadModelRow[]
  /** Holds in addition to those of the decisions: a zero hold locks the account. */
  readonly holds?: readonly HoldChange[]
}

abstract class AppendRefused extends BursarError {
  override readonly type = 'conflict'
}

/** The stream was written since it was loaded: load and decide again. */
export class StreamConflict extends AppendRefused {
  override readonly code = 'stream_conflict'
  override readonly retryable = true
  readonly streamId: string
  constructor(streamId: string) {
    super(`Stream ${streamId} was changed concurrently.`)
    this.streamId = streamId
  }
}

/** Another process holds the lease now: stop, and leave the work to it. */
export class FenceLost extends AppendRefused {
  override readonly code = 'fence_lost'
  override readonly retryable = true
  constructor(lease: string) {
    super(`Another process now holds the lease ${lease}.`)
  }
}

/** The idempotency key is known: the resource that it created, and the digest of that request. */
export class IdempotentReplay extends AppendRefused {
  override readonly code = 'idempotent_replay'
  readonly resourceId: string
  readonly fingerprint: string
  constructor(detail: { resource_id: string; fingerprint: string }) {
    super('This request was already accepted.')
    this.resourceId = detail.resource_id
    this.fingerprint = detail.fingerprint
  }
}

/** A hold exceeds the available balance. Amounts are in base units. */
export class HoldRefused extends AppendRefused {
  override readonly code = 'insufficient_funds'
  readonly assetId: string
  readonly available: bigint
  readonly needed: bigint
  constructor(detail: { asset_id: string; available: string; needed: string }) {
    super('The balance is too low for this request.')
    this.assetId = detail.asset_id
    this.available = BigInt(detail.available)
    this.needed = BigInt(detail.needed)
  }
}

/** The commit required the wallet to be active or without pending transactions, and it is not. */
export class WalletGuardRefused extends AppendRefused {
  override readonly code: 'wallet_not_active' | 'wallet_not_idle'
  constructor(code: 'wallet_not_active' | 'wallet_not_idle') {
    super(code === 'wallet_not_active' ? 'The wallet is not active.' : 'The wallet has pending transactions.')
    this.code = code
  }
}

/** A limit has no room for what the commit reserves. Amounts are in its units. */
export class LimitReached extends AppendRefused {
  override readonly code = 'limit_reached'
  readonly counter: string
  readonly left: bigint
  readonly needed: bigint
  /** When it would fit, if nothing else is spent until then; `null` if it exceeds the limit. */
  readonly roomAt: Date | null
  constructor(detail: { counter: string; left: string; needed: string; room_at?: string }) {
    super('A limit has no room for this request.')
    this.counter = detail.counter
    this.left = BigInt(detail.left)
    this.needed = BigInt(detail.needed)
    this.roomAt = detail.room_at === undefined ? null : new Date(detail.room_at)
  }
}

/** Another policy is in force for an owner than the one that judged the request: decide again. */
export class PolicyChanged extends AppendRefused {
  override readonly code = 'policy_changed'
  override readonly retryable = true
  readonly owner: Owner
  constructor({ tenant_id: tenantId, environment }: { tenant_id: string; environment: string }) {
    super('Another policy is in force by now.')
    this.owner = { tenantId, environment: environment as Owner['environment'] }
  }
}

/** No block tells that the clock is right: a clock that is ahead would forget what was spent. */
export function limitTimeUnknown(): Unavailable {
  return new Unavailable(
    'limit_time_unknown',
    'Limits cannot be checked: the newest block that was followed is more than five minutes behind the clock. Try again.',
  )
}

/** Transactions were signed too late: by the time of the database they are no longer valid. */
export class DeadlineMissed extends AppendRefused {
  override readonly code = 'deadline_missed'
  readonly transactionIds: readonly string[]
  constructor(transactionIds: readonly string[]) {
    super(`The transactions may not be signed any more: ${transactionIds.join(', ')}.`)
    this.transactionIds = transactionIds
  }
}

/** A unique index refused a row; the index's name identifies the rule. */
export class UniqueRuleBroken extends AppendRefused {
  override readonly code = 'unique_rule_broken'
  readonly constraint: string
  constructor(constraint: string) {
    super(`The change violates the constraint ${constraint}.`)
    this.constraint = constraint
  }
}

/** One refused commit in the result of `append_commits`. */
export type Refusal = { readonly commit: number; readonly outcome: string; readonly detail: Record<string, string> }

/** The error of a refusal, or `null` when the commit is already in the log. */
export function refusalError({ outcome, detail }: Refusal): BursarError | null {
  switch (outcome) {
    case 'appended_before':
      return null
    case 'stream_conflict':
      return new StreamConflict(detail.stream_id ?? '')
    case 'fence_lost':
      return new FenceLost(detail.lease ?? '')
    case 'idempotent_replay':
      return new IdempotentReplay(detail as { resource_id: string; fingerprint: string })
    case 'insufficient_funds':
      return new HoldRefused(detail as { asset_id: string; available: string; needed: string })
    case 'wallet_not_active':
    case 'wallet_not_idle':
      return new WalletGuardRefused(outcome)
    case 'limit_reached':
      return new LimitReached(detail as { counter: string; left: string; needed: string })
    case 'limit_time_unknown':
      return limitTimeUnknown()
    case 'policy_changed':
      return new PolicyChanged(detail as { tenant_id: string; environment: string })
    case 'deadline_missed':
      return new DeadlineMissed((detail.transaction_ids ?? '').split(' '))
    default:
      throw new Error(`append_commits returned an unknown outcome: ${outcome}`)
  }
}

/**
 * The three arguments of `append_commits` for a batch.
 *
 * @param isWhole sends whole rows in any case: needed when the table does not have the version that was changed
 */
export function encodeBatch(
  commits: readonly Commit[],
  isWhole = false,
): [guards: string, events: string, rows: string] {
  const guards: Record<string, unknown[]> = {}
  const add = (kind: string, item: Record<string, unknown>) => {
    guards[kind] ??= []
    guards[kind].push(item)
  }
  const events: string[] = []
  const rows: Record<string, unknown[]> = {}
  commits.forEach((commit, index) => {
    encodeGuards(commit, index, add)
    for (const { previous, events: changed } of commit.decisions) {
      // The canonical text is already an object: the columns that it lacks are prepended.
      for (const [place, event] of changed.entries()) {
        const first = place === 0 && previous !== '' ? `"previous":"${previous}",` : ''
        events.push(`{"commit":${index},${first}"hash":"${event.hash}",${event.canonical.slice(1)}`)
      }
    }
    for (const { table, row, changed } of [
      ...commit.decisions.flatMap((decision) => decision.readModels.rows),
      ...(commit.rows ?? []),
    ]) {
      rows[table] ??= []
      rows[table].push(isWhole || changed === undefined ? withoutNulls(row) : changed)
    }
  })
  return [JSON.stringify(guards), `[${events.join(',')}]`, JSON.stringify(rows)]
}

/** A column that a whole row lacks becomes null: many are, in the first row of a stream, and each costs PostgreSQL time. */
function withoutNulls(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const columns: Record<string, unknown> = {}
  for (const name of Object.keys(row)) if (row[name] !== null) columns[name] = row[name]
  return columns
}

function encodeGuards(commit: Commit, index: number, add: (kind: string, item: Record<string, unknown>) => void): void {
  const { fence, idempotency, wallet, deadlines = [] } = commit.guards ?? {}
  if (fence) add('fences', { commit: index, name: fence.name, fence: fence.fence.toString() })
  if (idempotency) {
    add('idempotency', {
      commit: index,
      tenant_id: idempotency.tenantId,
      key: idempotency.key,
      fingerprint: idempotency.fingerprint,
      resource_id: idempotency.resourceId,
    })
  }
  if (wallet) add('wallets', { commit: index, wallet_id: wallet.walletId, require: wallet.require })
  for (const id of deadlines) add('deadlines', { commit: index, transaction_id: id })
  const holds = sumByAccount(commit.decisions.flatMap((decision) => decision.readModels.holds))
  // Holds that cannot be refused are applied last, so that the account is locked only for the end of a long commit.
  for (const hold of [...holds.filter(({ mustFit }) => mustFit), ...(commit.holds ?? [])]) {
    add('holds', encodeHold(hold, index))
  }
  for (const hold of holds.filter(({ mustFit }) => !mustFit)) add('releases', encodeHold(hold, index))
}

/** One hold for each account, so that a refusal reports what the whole commit needs. */
function sumByAccount(holds: readonly HoldChange[]): readonly HoldChange[] {
  if (holds.length < 2) return holds
  const sums = new Map<string, HoldChange>()
  for (const hold of holds) {
    const account = `${hold.walletId} ${hold.assetId} ${hold.mustFit}`
    const sum = sums.get(account)
    sums.set(account, sum === undefined ? hold : { ...hold, delta: sum.delta + hold.delta })
  }
  return [...sums.values()]
}

function encodeHold({ walletId, assetId, delta, mustFit }: HoldChange, index: number): Record<string, unknown> {
  return { commit: index, wallet_id: walletId, asset_id: assetId, delta: delta.toString(), must_fit: mustFit }
}
