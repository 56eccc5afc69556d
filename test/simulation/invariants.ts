/** The invariants: for all bytes that reach a node, and for log, rows and chain at rest. */
import { isDeepStrictEqual } from 'node:util'
import { upcast } from '../../src/event-log/aggregate.ts'
import type { Commit } from '../../src/event-log/append.ts'
import { chainHash } from '../../src/event-log/hash-chain.ts'
import { holdsOf, transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import type { KnownTransaction, TransactionState } from '../../src/transactions/state.ts'
import type { Wire } from './chain.ts'
import { CONFIRMATIONS, type World } from './terms.ts'

/** Laws 1 and 2, checked when bytes reach a node. */
export function checkWire({ store, chain, broken }: World, wire: Wire): void {
  const stream = store.streams.get(`transaction-${wire.signedFor}`) ?? []
  if (!stream.some(({ data }) => (data as { hash?: string }).hash === wire.hash))
    broken(`bytes ${wire.hash.slice(-6)} of ${wire.signedFor} are sent and not in the log`)
  for (const other of chain.sent()) {
    if (other.signedFor !== wire.signedFor || other.nonce === wire.nonce) continue
    const [older, newer] = other.nonce < wire.nonce ? [other, wire] : [wire, other]
    if (!chain.isLost(other.from, other.nonce) && !chain.isLost(wire.from, wire.nonce))
      broken(`${wire.signedFor} is sent under nonces ${older.nonce} and ${newer.nonce}, and neither is lost`)
  }
}

/**
 * After every append: holds equal the maximum cost of unmined transactions; and accepted requests fit into the balance.
 */
export function checkAccounts(world: World, { decisions }: Commit): void {
  const { store, broken } = world
  const costs = new Map<string, bigint>()
  for (const id of store.transactions.keys()) {
    const { state } = foldOf(world, id)
    for (const [asset, cost] of holdsOf(state)) {
      const account = `${state.state === 'unknown' ? '' : state.intent.walletId} ${asset}`
      costs.set(account, (costs.get(account) ?? 0n) + cost)
    }
  }
  for (const account of new Set([...costs.keys(), ...store.held.keys()])) {
    const [held, cost] = [store.held.get(account) ?? 0n, costs.get(account) ?? 0n]
    if (held !== cost) broken(`${held} is held back of ${account}, and what waits may cost ${cost}`)
  }
  for (const { walletId, assetId, mustFit } of decisions.flatMap(({ readModels }) => readModels.holds)) {
    const account = `${walletId} ${assetId}`
    const [held, balance] = [store.held.get(account) ?? 0n, store.balances.get(account) ?? 0n]
    if (mustFit && held > balance) broken(`${account}: accepted though ${held} does not fit into ${balance}`)
  }
}

/** After every append: what was signed in it was still valid, by the time of the database, unless it was found on chain. */
export function checkDeadlines({ store, databaseNow, broken }: World, { decisions }: Commit): void {
  for (const { streamId, canonical } of decisions.flatMap(({ events }) => events)) {
    const { type, data } = JSON.parse(canonical)
    const until = store.transactions.get(streamId.slice('transaction-'.length))?.valid_until
    if (type !== 'TransactionSigned' || data.recovered === true || typeof until !== 'string') continue
    if (Date.parse(until) <= databaseNow()) broken(`${streamId} is signed after ${until}`)
  }
}

/**
 * After every append: no wallet has less than what waits may cost. A reconciliation may read a balance ahead of the
 * follower: it lacks what was spent in blocks whose transactions still hold it.
 */
export function checkFunds({ store, broken }: World): void {
  for (const [account, held] of store.held) {
    const isAhead = (store.balanceRows.get(account)?.block_number ?? 0) > (store.cursor()?.number ?? 0)
    const balance = store.balances.get(account) ?? 0n
    if (!isAhead && held > balance) broken(`${held} is held back of ${account}, which has ${balance}`)
  }
}

/**
 * Recorded balances equal the chain's, as of a block that is on it. After a reorg below the kept hashes, the
 * reconciliation corrects the balances; an unchanged one keeps the block at which it was read. So does one that was read
 * before the follower began, at no block after the one it began with.
 */
function checkBalances({ store, chain, lanes, keptHashes, broken }: World): void {
  const blocksAreKept = chain.deepestReorg() <= keptHashes
  for (const lane of lanes) {
    const row = [...store.balanceRows.values()].find(({ wallet_id }) => wallet_id === lane)
    const balance = chain.head().balances.get(lane) ?? 0n
    if (row?.balance !== balance.toString()) broken(`${lane} holds ${balance}, and ${row?.balance} is recorded`)
    const isFollowed = blocksAreKept && row !== undefined && row.block_number > store.firstWalked()
    if (isFollowed && chain.blocks()[row.block_number]?.hash !== row.block_hash)
      broken(`the balance of ${lane} is recorded of a block that left the chain`)
  }
}

/** All invariants that must hold at rest. */
export function checkRest(world: World): void {
  checkHistory(world)
  checkRows(world)
  checkChain(world)
  checkBalances(world)
  const { store, broken } = world
  for (const [account, held] of store.held) if (held !== 0n) broken(`${held} is still held back of ${account}`)
}

function foldOf({ store }: World, id: string): { state: TransactionState; row: unknown; holds: Map<string, bigint> } {
  let state: TransactionState = transactionAggregate.initialState
  let row: unknown = null
  const holds = new Map<string, bigint>()
  for (const event of store.streams.get(`transaction-${id}`) ?? []) {
    const read = upcast<TransactionEvent>(transactionAggregate.schemas, event.type, event.schemaVersion, event.data)
    const after = transactionAggregate.evolve(state, read)
    const context = { id, tenantId: event.tenantId, version: event.version, recordedAt: event.recordedAt }
    const projected = transactionAggregate.project(state, after, context)
    row = projected.rows[0]?.row ?? row
    for (const { assetId, delta } of projected.holds) holds.set(assetId, (holds.get(assetId) ?? 0n) + delta)
    state = after
  }
  return { state, row, holds }
}

/** The hash chains of all streams are valid, and no outcome is told before it is final, or taken back without an event. */
function checkHistory({ store, broken }: World): void {
  for (const [streamId, events] of store.streams) {
    let hash = ''
    let settled = false
    for (const event of events) {
      hash = chainHash(hash, event.canonical)
      if (hash !== event.hash) broken(`${streamId} is not chained at version ${event.version}`)
      if (event.type === 'TransactionReorged' && settled) broken(`${streamId}: an outcome is taken back without a word`)
      if (event.type === 'SettlementRevoked' && !settled) broken(`${streamId}: what nobody was told is revoked`)
      const data = event.data as { hash?: string | null; confirmations?: number }
      settled =
        ['TransactionConfirmed', 'TransactionReverted'].includes(event.type) ||
        (event.type === 'TransactionCancelled' && data.hash !== null)
      if (settled && (data.confirmations ?? 0) < CONFIRMATIONS)
        broken(`${streamId}: an outcome is told before it is final`)
    }
  }
}

/** Live rows match the log. */
function checkRows(world: World): void {
  const { store, broken } = world
  for (const [id, live] of store.transactions) {
    const { row, holds } = foldOf(world, id)
    if (!isDeepStrictEqual(row, live)) broken(`the row of ${id} is not what the log says`)
    for (const [asset, held] of holds) if (held !== 0n) broken(`the log holds back ${held} of ${asset} for ${id}`)
  }
}

/** Each accepted transfer is on chain exactly once, or ended with a reason and is not on chain. */
function checkChain(world: World): void {
  const { accepted, chain, broken } = world
  const blocks = chain.blocks()
  const mined = blocks.flatMap(({ number, hash, transactions }) => transactions.map((wire) => ({ wire, number, hash })))
  for (const id of accepted) {
    const { state } = foldOf(world, id)
    if (state.state === 'unknown') {
      broken(`${id} was accepted and is not in the log`)
      continue
    }
    const ours = mined.filter(({ wire }) => wire.signedFor === id)
    const payments = ours.filter(({ wire }) => wire.to !== wire.from)
    if (payments.length > 1) broken(`${id} is on chain ${payments.length} times`)
    const problem = problemOf(state, payments.length)
    if (problem !== null) broken(`${id} is ${state.state} and ${problem}`)
    const block = blocks.find(({ hash }) => hash === state.inclusion?.blockHash)
    if (state.inclusion !== null && !block?.transactions.some(({ hash }) => hash === state.inclusion?.hash))
      broken(`${id} is said to be in block ${state.inclusion.blockNumber}, and is not`)
  }
}

function problemOf({ state, failure }: KnownTransaction, payments: number): string | null {
  switch (state) {
    case 'confirmed':
      return payments === 1 ? null : 'not on chain'
    case 'reverted':
      return payments === 1 && failure !== null ? null : 'not on chain, or without a reason'
    case 'cancelled':
      return payments === 0 ? null : 'on chain'
    case 'failed':
      return payments === 0 && failure !== null ? null : 'on chain, or without a reason'
    default:
      return 'not settled'
  }
}
