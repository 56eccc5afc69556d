/** Transactions that call contracts: their intent, call and dependencies, and the lanes they wake. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { MAX_EXECUTION_GAS } from '../../src/chain/forks.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import { TRANSACTION_TYPES } from '../../src/declarations.ts'
import { type Decision, type HoldChange, upcast } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { holdsOf, transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { OpeningEvent, TransactionEvent } from '../../src/transactions/all-events.ts'
import { buildCall, buildCancellation } from '../../src/transactions/build-call.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { outcomeOf } from '../../src/transactions/dependency.ts'
import { gasLimitOf } from '../../src/transactions/examine-waiting.ts'
import { type LanesOf, transactionJobs, withLanes } from '../../src/transactions/jobs.ts'
import type { Lane } from '../../src/transactions/lanes.ts'
import type { KnownTransaction } from '../../src/transactions/state.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'

function golden<E extends TransactionEvent>(type: E['type'], changes: Partial<E['data']> = {}): E {
  const { version } = transactionAggregate.schemas[type]
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v${version}.json`, import.meta.url), 'utf8'))
  const event = upcast<E>(transactionAggregate.schemas, type, file.schema_version, file.data)
  return { ...event, data: { ...event.data, ...changes } }
}

const mint = golden<OpeningEvent>('MintRequested')
const signed = golden('TransactionSigned')
const mined = golden('TransactionMined')

const given = givenOf(transactionDecider)

function fold(...events: readonly TransactionEvent[]): KnownTransaction {
  const { state } = given(...events)
  if (state.state === 'unknown') throw new Error('the transaction is unknown')
  return state
}

t.test('each opening makes a transaction of its type, with what it waits for and what it serves', async (t) => {
  for (const [opening, type] of Object.entries(TRANSACTION_TYPES) as [OpeningEvent['type'], string][]) {
    const { data: intent } = golden<OpeningEvent>(opening)
    const command = { type: 'RequestTransaction', opening, intent: intent } as const
    const event = { type: opening, data: intent } as OpeningEvent
    given().when(command).expect(t, event)
    const { state } = given(event)
    const context = { id: 'tx_9', tenantId: 'acme', version: 1, recordedAt: NOW }
    const [written] = transactionAggregate.project(transactionDecider.initialState, state, context).rows
    t.match(written?.row, {
      type,
      state: 'requested',
      to_address: intent.to,
      depends_on: intent.dependsOn,
      subject_type: intent.subject?.type ?? null,
      subject_id: intent.subject?.id ?? null,
      succeeded: null,
    })
  }
  given(mint)
    .when({ type: 'RequestTransaction', opening: 'MintRequested', intent: mint.data })
    .fails(t, 'invalid_transition')
})

t.test('the row has the success of a call while its block is on the chain', async (t) => {
  const succeeded = (...events: readonly TransactionEvent[]) => {
    const context = { id: 'tx_9', tenantId: 'acme', version: 1, recordedAt: NOW }
    return transactionAggregate.project(fold(mint), fold(mint, signed, ...events), context).rows[0]?.row.succeeded
  }
  t.equal(succeeded(mined), true)
  t.equal(succeeded(golden('TransactionMined', { succeeded: false })), false)
  t.equal(succeeded(mined, golden('TransactionReorged')), null)
})

t.test('a call goes to its contract with its data and value; its cancellation does nothing', async (t) => {
  const valued = fold(golden<OpeningEvent>('MintRequested', { amount: 5n }))
  const { to, data, from } = valued.intent
  t.strictSame(buildCall(valued.intent), { to, value: 5n, data })
  t.strictSame(buildCancellation(valued.intent), { to: from, value: 0n, data: '0x' })
  const native = nativeAsset('ethereum', 1).assetId
  t.strictSame([...holdsOf(valued)], [[native, 5n + 120_000n * 20_000_000_000n]])
  const token = { assetId: 'eip155:1/erc20:0x01', symbol: 'TST', decimals: 6, contract: '0x01' }
  const outflows = [{ asset: token, amount: 7n }]
  const taking = { ...mint, data: { ...mint.data, outflows } }
  t.strictSame(
    [...holdsOf(fold(taking))],
    [
      [native, 120_000n * 20_000_000_000n],
      [token.assetId, 7n],
    ],
  )
  t.equal(holdsOf(fold(taking, signed, mined)).size, 0)
})

t.test('a call gets the estimate or what was reserved, whichever is more; a transfer the estimate', async (t) => {
  const reserved = { gasLimit: 100n, maxFeePerGas: 1n }
  t.equal(gasLimitOf({ data: '0x01', reserved }, 120n, 200n), 120n)
  t.equal(gasLimitOf({ data: '0x01', reserved }, 80n, 200n), 100n)
  t.equal(gasLimitOf({ data: null, reserved }, 80n, 200n), 80n)
})

t.test('a call gets more than nodes before Amsterdam take only if it needs that', async (t) => {
  const call = { data: '0x01', reserved: { gasLimit: 20_000_000n, maxFeePerGas: 1n } }
  t.equal(gasLimitOf(call, 6_000_000n, 40_000_000n), MAX_EXECUTION_GAS, 'reserved while the fork was unknown')
  t.equal(gasLimitOf(call, 6_000_000n, MAX_EXECUTION_GAS), MAX_EXECUTION_GAS, 'never more than the chain takes')
  t.equal(gasLimitOf(call, 18_000_000n, 40_000_000n), 18_000_000n)
})

t.test('a dependency is open until it has succeeded in a block, or has ended', async (t) => {
  const failing = golden('TransactionMined', { succeeded: false })
  const outcome = (...events: readonly TransactionEvent[]) => outcomeOf('tx_1', fold(mint, ...events))
  for (const open of [[], [signed], [signed, mined, golden('TransactionReorged')], [signed, failing]])
    t.strictSame(outcome(...open), { outcome: 'open' })
  const { blockNumber } = mined.data as { blockNumber: number }
  t.strictSame(outcome(signed, mined), { outcome: 'succeeded', blockNumber })
  t.strictSame(outcome(signed, mined, golden('TransactionConfirmed')), { outcome: 'succeeded', blockNumber })
  const failed = (message: string) => ({ outcome: 'failed', message })
  t.strictSame(
    outcome(signed, failing, golden('TransactionReverted', { reason: 'closed' })),
    failed('It depends on tx_1, which ended as reverted: closed'),
  )
  t.strictSame(
    outcome(golden('TransactionFailed', { code: 'dependency_failed', message: 'It depends on tx_0.' })),
    failed('It depends on tx_1, which ended as failed.'),
  )
  t.strictSame(outcome(golden('TransactionCancelled')), failed('It depends on tx_1, which ended as cancelled.'))
  t.strictSame(
    outcomeOf('tx_1', { state: 'unknown' }),
    failed('It depends on tx_1, but this transaction does not exist.'),
  )
})

const LANE: Lane = { chainId: 1, address: `0x${'a'.repeat(40)}` }
const OTHER: Lane = { chainId: 1, address: `0x${'b'.repeat(40)}` }

async function route(type: string, lanesOf: LanesOf) {
  const event = { type, streamId: 'transaction-tx_1', tenantId: 'acme', data: null }
  async function* batches() {
    yield { events: [event] }
  }
  for await (const { events } of withLanes(batches(), lanesOf))
    return events.flatMap(transactionJobs).map(({ queue, id }) => `${queue} ${id}`)
  return []
}

t.test('an event wakes its own lane, and once it decides the transaction those of its dependents', async (t) => {
  const [own, other] = [LANE, OTHER].map(({ address }) => `1-${address}`)
  const lanesOf: LanesOf = async (ids, decided) => ({
    own: new Map(ids.map((id) => [id, LANE])),
    dependents: new Map(decided.map((id) => [id, [OTHER]])),
  })
  for (const type of Object.keys(TRANSACTION_TYPES)) t.strictSame(await route(type, lanesOf), [`lane ${own}`], type)
  t.strictSame(await route('TransactionMined', lanesOf), [`lane ${own}`, `lane ${other}`])
  for (const type of ['TransactionReverted', 'TransactionFailed', 'TransactionCancelled'])
    t.strictSame(await route(type, lanesOf), [`lane ${other}`], type)
  t.strictSame(await route('TransactionSigned', lanesOf), [`submit ${own}`])
  t.strictSame(await route('TransactionConfirmed', lanesOf), [])
})

t.test('what several changes of a commit reserve of one account is checked as one sum', async (t) => {
  const hold = (assetId: string, delta: bigint, mustFit: boolean): HoldChange => ({
    walletId: 'wal_1',
    assetId,
    delta,
    mustFit,
  })
  const changing = (...holds: readonly HoldChange[]) =>
    ({ events: [], readModels: { rows: [], holds } }) as unknown as Decision
  const commit = {
    decisions: [
      changing(hold('a', 1n, true), hold('b', 2n, true)),
      changing(hold('a', 10n, true)),
      changing(hold('a', -3n, false)),
      changing(hold('a', -4n, false)),
    ],
  }
  const { holds, releases } = JSON.parse(encodeBatch([commit])[0])
  matchExactly(t, holds, [
    { asset_id: 'a', delta: '11', must_fit: true },
    { asset_id: 'b', delta: '2' },
  ])
  matchExactly(t, releases, [{ asset_id: 'a', delta: '-7', must_fit: false }])
  t.equal(holds.length + releases.length, 3)
})
