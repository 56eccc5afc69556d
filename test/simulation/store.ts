/**
 * An in-memory replacement of `append_commits`, the leases and the read models of PostgreSQL. A commit is checked in
 * the same way: fences, stream versions, holds, unique nonces per chain and sender; and it is atomic.
 */
import type { HoldChange, ReadModelRow } from '../../src/event-log/aggregate.ts'
import {
  type Commit,
  DeadlineMissed,
  FenceLost,
  HoldRefused,
  IdempotentReplay,
  StreamConflict,
  UniqueRuleBroken,
} from '../../src/event-log/append.ts'
import { chainHash } from '../../src/event-log/hash-chain.ts'
import { type LeaseRow, leaseTable } from './lease-table.ts'

export type StoredEvent = {
  readonly streamId: string
  readonly version: number
  readonly type: string
  readonly schemaVersion: number
  readonly data: unknown
  readonly tenantId: string
  readonly recordedAt: string
  readonly canonical: string
  readonly hash: string
}

export type TransactionRow = Readonly<Record<string, unknown>> & {
  readonly transaction_id: string
  readonly chain_id: number
  readonly from_address: string
  readonly state: string
  readonly nonce: number | null
  readonly hashes: readonly string[]
  readonly block_number: number | null
  readonly block_hash: string | null
  readonly updated_at: string
  readonly depends_on: string | null
  readonly succeeded: boolean | null
  readonly attention: string | null
}

export type BalanceRow = {
  readonly wallet_id: string
  readonly asset_id: string
  readonly balance: string
  readonly block_number: number
  readonly block_hash: string
}

/** One for each nonce: the newest. */
export type OutsideRow = {
  readonly block_time: string
  readonly block_number: number
  readonly address: string
  readonly nonce: number
  readonly hash: string
  readonly content: string
  readonly tag: number | null
}

export type ForeignRow = { readonly address: string; readonly nonce: number; readonly block_number: number }

type Amounts = ReadonlyMap<string, bigint>

/** A commit, and the leases after it. */
type Kept = { readonly commit: Commit; readonly leases: readonly (readonly [string, LeaseRow])[] }

/** Laws of the store that a mutant may break. */
export type StoreLaws = {
  readonly fences: boolean
  readonly nonces: boolean
  readonly releases: boolean
  readonly fits: boolean
  readonly signaturesFit: boolean
  readonly deadlines: boolean
}

export type Store = ReturnType<typeof createStore>

/** @param onAppended called with each successful commit */
export function createStore(laws: StoreLaws, now: () => number, onAppended: (commit: Commit) => void) {
  const tables = createTables(laws)
  const { streams, transactions, held, balances, keys } = tables
  const leases = new Map<string, LeaseRow>()
  const kept: Kept[] = []
  let epoch = 0

  function append(commit: Commit): void {
    const fence = commit.guards?.fence
    const lease = fence && leases.get(fence.name)
    if (laws.fences && fence && (lease?.fence !== fence.fence || lease.start !== epoch)) throw new FenceLost(fence.name)
    if (checkStreams(streams, commit) === 'before') return
    const key = commit.guards?.idempotency
    const known = key && keys.get(key.key)
    if (known && known.resourceId !== key.resourceId)
      throw new IdempotentReplay({ resource_id: known.resourceId, fingerprint: known.fingerprint })
    if (laws.nonces) checkNonces(rowsOf(commit), transactions)
    if (laws.fits) checkHolds(laws.signaturesFit ? holdsIn(commit) : holdsOfRequests(commit), held, balances)
    if (laws.deadlines) checkDeadlines(commit, transactions, now())
    kept.push({ commit, leases: [...leases].map(([name, row]) => [name, { ...row }]) })
    tables.apply(commit)
    onAppended(commit)
  }

  /**
   * The database goes back: to the state after this many commits, with the leases of that time, which end with the start
   * of a server.
   */
  function restore(commits: number): readonly Commit[] {
    const forgotten = kept.splice(commits).map(({ commit }) => commit)
    tables.clear()
    leases.clear()
    epoch += 1
    for (const { commit } of kept) tables.apply(commit)
    for (const [name, row] of kept.at(-1)?.leases ?? []) leases.set(name, { ...row })
    return forgotten
  }

  return {
    ...tables,
    /** Changes with each restore. */
    epoch: () => epoch,
    append,
    restore,
    /** The commits that a restore can forget. */
    commits: () => kept.map(({ commit }) => commit),
    leases: leaseTable(leases, now, () => epoch),
  }
}

/** Everything that commits write. */
function createTables(laws: StoreLaws) {
  const events: StoredEvent[] = []
  const streams = new Map<string, StoredEvent[]>()
  const transactions = new Map<string, TransactionRow>()
  const blocks = new Map<number, string>()
  const foreign = new Map<string, ForeignRow>()
  const outside = new Map<string, OutsideRow>()
  const held = new Map<string, bigint>()
  const balances = new Map<string, bigint>()
  const balanceRows = new Map<string, BalanceRow>()
  /** The resource of each idempotency key. */
  const keys = new Map<string, { readonly resourceId: string; readonly fingerprint: string }>()
  let cursor: { number: number; hash: string } | null = null
  let firstWalked = Number.POSITIVE_INFINITY

  function put({ table, row }: ReadModelRow): void {
    if (table === 'transactions') transactions.set(String(row.transaction_id), row as TransactionRow)
    else if (table === 'balances') {
      const account = `${row.wallet_id} ${row.asset_id}`
      balanceRows.set(account, row as BalanceRow)
      balances.set(account, BigInt(String(row.balance)))
    } else if (table === 'chain_blocks') blocks.set(Number(row.number), String(row.hash))
    else if (table === 'chain_cursors') {
      const number = Number(row.number)
      if (cursor !== null && number < cursor.number) forgetAbove(number)
      cursor = { number, hash: String(row.hash) }
      if (firstWalked === Number.POSITIVE_INFINITY) firstWalked = cursor.number
    } else if (table === 'foreign_nonces') foreign.set(JSON.stringify(row), row as ForeignRow)
    else if (table === 'outside_transactions') outside.set(`${row.address} ${row.nonce}`, row as OutsideRow)
    else throw new Error(`the simulation knows no table ${table}`)
  }

  /** As the trigger `chain_cursors_go_back`. */
  function forgetAbove(block: number): void {
    for (const table of [outside, foreign])
      for (const [key, row] of table) if (row.block_number > block) table.delete(key)
  }

  function apply(commit: Commit): void {
    const key = commit.guards?.idempotency
    if (key) keys.set(key.key, key)
    for (const event of commit.decisions.flatMap((decision) => decision.events)) {
      const stored = toStored(event)
      events.push(stored)
      streams.set(event.streamId, [...(streams.get(event.streamId) ?? []), stored])
    }
    for (const row of rowsOf(commit)) put(row)
    for (const { walletId, assetId, delta } of holdsIn(commit)) {
      if (!laws.releases && delta < 0n) continue
      const account = `${walletId} ${assetId}`
      held.set(account, (held.get(account) ?? 0n) + delta)
    }
  }

  function clear(): void {
    for (const table of [streams, transactions, blocks, foreign, outside, held, balances, balanceRows, keys])
      table.clear()
    events.length = 0
    cursor = null
    firstWalked = Number.POSITIVE_INFINITY
  }

  return {
    events,
    streams,
    transactions,
    blocks,
    foreign,
    outside,
    held,
    balances,
    balanceRows,
    keys,
    cursor: () => cursor,
    /** The follower's first block: lower blocks were not processed. */
    firstWalked: () => firstWalked,
    apply,
    clear,
  }
}

function rowsOf({ decisions, rows = [] }: Commit): readonly ReadModelRow[] {
  return [...decisions.flatMap((decision) => decision.readModels.rows), ...rows]
}

function holdsIn({ decisions, holds = [] }: Commit): readonly HoldChange[] {
  return [...decisions.flatMap((decision) => decision.readModels.holds), ...holds]
}

function holdsOfRequests({ decisions }: Commit): readonly HoldChange[] {
  return decisions
    .filter(({ events }) => events[0]?.streamVersion === 1)
    .flatMap((decision) => decision.readModels.holds)
}

function checkStreams(streams: ReadonlyMap<string, readonly StoredEvent[]>, commit: Commit): 'new' | 'before' {
  const all = commit.decisions.flatMap((decision) => decision.events)
  const standing = all.map((event) => streams.get(event.streamId)?.[event.streamVersion - 1])
  if (all.length > 0 && all.every((event, index) => standing[index]?.hash === event.hash)) return 'before'
  for (const [index, event] of all.entries()) {
    if (standing[index] !== undefined) throw new StreamConflict(event.streamId)
    const before = index > 0 && all[index - 1]?.streamId === event.streamId ? all[index - 1] : undefined
    const previous = before?.hash ?? streams.get(event.streamId)?.at(-1)?.hash ?? ''
    // Decided on what a restored database no longer has.
    if (chainHash(previous, event.canonical) !== event.hash) throw new StreamConflict(event.streamId)
  }
  return 'new'
}

function checkNonces(rows: readonly ReadModelRow[], transactions: ReadonlyMap<string, TransactionRow>): void {
  for (const { table, row } of rows) {
    if (table !== 'transactions' || row.nonce === null) continue
    for (const other of transactions.values()) {
      const same = other.nonce === row.nonce && other.from_address === row.from_address
      if (same && other.transaction_id !== row.transaction_id) throw new UniqueRuleBroken('transactions_nonce_once')
    }
  }
}

/** Checks that holds with `mustFit` fit into the balance minus all other holds. */
function checkHolds(holds: readonly HoldChange[], held: Amounts, balances: Amounts): void {
  const sums = new Map<string, bigint>()
  for (const { walletId, assetId, delta } of holds.filter(({ mustFit }) => mustFit)) {
    const account = `${walletId} ${assetId}`
    const sum = (sums.get(account) ?? held.get(account) ?? 0n) + delta
    const balance = balances.get(account) ?? 0n
    if (sum > balance)
      throw new HoldRefused({ asset_id: assetId, available: balance.toString(), needed: delta.toString() })
    sums.set(account, sum)
  }
}

/** Checks that what is signed is still valid. */
function checkDeadlines({ guards }: Commit, transactions: ReadonlyMap<string, TransactionRow>, now: number): void {
  const late = (guards?.deadlines ?? []).filter((id) => {
    const until = transactions.get(id)?.valid_until
    return typeof until === 'string' && Date.parse(until) <= now
  })
  if (late.length > 0) throw new DeadlineMissed(late)
}

function toStored({ canonical, hash }: { readonly canonical: string; readonly hash: string }): StoredEvent {
  const parsed = JSON.parse(canonical)
  return {
    streamId: parsed.stream_id,
    version: parsed.stream_version,
    type: parsed.type,
    schemaVersion: parsed.schema_version,
    data: parsed.data,
    tenantId: parsed.metadata.tenantId,
    recordedAt: parsed.recorded_at,
    canonical,
    hash,
  }
}
