/** What an observation adds to a known balance, and the value of an amount. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { balanceAggregate } from '../../src/balances/aggregate.ts'
import { type BalanceCommand, balanceDecider } from '../../src/balances/decider.ts'
import type { BalanceChanged, BalanceEvent, BalanceReorged, Observation } from '../../src/balances/events.ts'
import { balanceWork } from '../../src/balances/jobs.ts'
import { nativeAsset, tokenAsset } from '../../src/core/assets.ts'
import { usdValue } from '../../src/core/usd-value.ts'
import { decideOn, type Loaded, upcast } from '../../src/event-log/aggregate.ts'
import { givenOf } from '../support/given.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const ETH = nativeAsset('ethereum', 1000001)
const USDC = tokenAsset(1000001, '0x5FbDB2315678afecb367f032d93F642f64180aa3', 'USDC', 6)

function seen(balance: string, blockNumber: number, asset = ETH, blockHash = `0xa${blockNumber}`): Observation {
  return { asset, balance, blockNumber, blockHash }
}
function changed(observation: Observation, cause: BalanceChanged['data']['cause'] = 'block'): BalanceChanged {
  return { type: 'BalanceChanged', data: { ...observation, cause, observedAt: NOW } }
}
function reorged(observation: Observation, orphaned: Observation): BalanceReorged {
  const { blockNumber: orphanedBlockNumber, blockHash: orphanedBlockHash } = orphaned
  return { type: 'BalanceReorged', data: { ...observation, orphanedBlockNumber, orphanedBlockHash, observedAt: NOW } }
}
function observe(...observations: Observation[]): BalanceCommand {
  return { type: 'RecordObservations', observations, cause: 'block', now: NOW }
}
function correct(observation: Observation, orphaned: Observation): BalanceCommand {
  return { type: 'RecordReorg', corrections: [{ observation, orphaned }], now: NOW }
}
const given = givenOf(balanceDecider)

t.test('the first observation is recorded, a zero too', async (t) => {
  given()
    .when(observe(seen('0', 7), seen('5', 7, USDC)))
    .expect(t, changed(seen('0', 7)), changed(seen('5', 7, USDC)))
})

t.test('another amount is recorded, in a newer block or in another block of the same height', async (t) => {
  given(changed(seen('1', 7)))
    .when(observe(seen('2', 8)))
    .expect(t, changed(seen('2', 8)))
  const sibling = seen('2', 7, ETH, '0xb7')
  given(changed(seen('1', 7)))
    .when(observe(sibling))
    .expect(t, changed(sibling))
})

t.test('the same amount in a newer block is not recorded', async (t) => {
  given(changed(seen('1', 7)))
    .when(observe(seen('1', 9)))
    .expect(t)
})

t.test('nothing is recorded from an older block', async (t) => {
  given(changed(seen('1', 7)))
    .when(observe(seen('2', 6)))
    .expect(t)
})

t.test('an observation of one asset does not change another', async (t) => {
  given(changed(seen('1', 7)))
    .when(observe(seen('2', 3, USDC)))
    .expect(t, changed(seen('2', 3, USDC)))
})

t.test('a balance is withdrawn with the block it was read at, even where the amount is the same', async (t) => {
  const orphan = seen('9', 7)
  given(changed(orphan))
    .when(correct(seen('4', 5), orphan))
    .expect(t, reorged(seen('4', 5), orphan))
  given(changed(orphan))
    .when(correct(seen('9', 5), orphan))
    .expect(t, reorged(seen('9', 5), orphan))
})

t.test(
  'a reorg that was recorded before changes nothing, nor does one of a block that is not the known one',
  async (t) => {
    const orphan = seen('9', 7)
    given(changed(orphan), reorged(seen('4', 5), orphan))
      .when(correct(seen('4', 5), orphan))
      .expect(t)
    given(changed(seen('9', 7, ETH, '0xother')))
      .when(correct(seen('4', 5), orphan))
      .expect(t)
    given()
      .when(correct(seen('4', 5), orphan))
      .expect(t)
  },
)

t.test('after a reorg the blocks that replace it count as newer', async (t) => {
  const orphan = seen('9', 7)
  const replacing = seen('6', 6, ETH, '0xb6')
  given(changed(orphan), reorged(seen('4', 5), orphan))
    .when(observe(replacing))
    .expect(t, changed(replacing))
})

const observations = fc.array(
  fc.record({
    asset: fc.constantFrom(ETH, USDC),
    balance: fc.bigInt(0n, 3n).map(String),
    blockNumber: fc.nat(12),
    fork: fc.nat(1),
  }),
  { maxLength: 40 },
)

/** A live run: every command is decided on the rows and events of earlier ones. */
function run(commands: readonly BalanceCommand[]) {
  let loaded: Loaded<typeof balanceDecider.initialState> = { id: 'wal_1', state: {}, version: 0, hash: '' }
  const rows = new Map<unknown, unknown>()
  const events: BalanceEvent[] = []
  for (const command of commands) {
    const decided = decideOn(balanceAggregate, loaded, command, {
      metadata: { tenantId: 'acme', actor: 'worker:test' },
      now: NOW,
    })
    if (decided === null) continue
    loaded = decided.after
    for (const one of decided.readModels.rows) if (one.table === 'balances') rows.set(one.row.asset_id, one.row)
    for (const { canonical } of decided.events) events.push(JSON.parse(canonical))
  }
  return { state: loaded.state, rows, events }
}

t.test('after any observations the rows rebuilt from the log equal the live rows', async () => {
  fc.assert(
    fc.property(observations, (list) => {
      const commands = list.map(({ asset, balance, blockNumber, fork }, index): BalanceCommand => {
        const observation = seen(balance, blockNumber, asset, `0x${fork}${blockNumber}`)
        return index % 5 === 4
          ? correct(observation, seen('0', blockNumber + 1, asset, `0x${fork}${blockNumber + 1}`))
          : observe(observation)
      })
      const { state, rows, events } = run(commands)
      let folded = balanceAggregate.initialState
      const rebuilt = new Map<unknown, unknown>()
      events.forEach((event, index) => {
        const after = balanceAggregate.evolve(folded, event)
        const context = { id: 'wal_1', tenantId: 'acme', version: index + 1, recordedAt: NOW }
        for (const { row } of balanceAggregate.project(folded, after, context).rows) rebuilt.set(row.asset_id, row)
        folded = after
      })
      assert.deepEqual(folded, state)
      assert.deepEqual(rebuilt, rows)
    }),
  )
})

t.test(
  'observations of one chain that come twice or in any order end at the newest block that said something new',
  async () => {
    const chain = fc
      .uniqueArray(fc.nat(30), { minLength: 1, maxLength: 15 })
      .chain((numbers) =>
        fc.tuple(
          fc.constant(numbers),
          fc.shuffledSubarray([...numbers, ...numbers], { minLength: numbers.length * 2 }),
        ),
      )
    fc.assert(
      fc.property(chain, ([numbers, order]) => {
        const { state, events } = run(order.map((number) => observe(seen(String(number), number))))
        const newest = Math.max(...numbers)
        assert.deepEqual([state[ETH.assetId]?.balance, state[ETH.assetId]?.blockNumber], [String(newest), newest])
        const heights = events.map(({ data }) => data.blockNumber)
        assert.deepEqual(
          heights,
          [...new Set(heights)].sort((a, b) => a - b),
          'recorded heights only grow',
        )
      }),
    )
  },
)

t.test('only a registered token makes a job that reads the wallets of its tenant', async (t) => {
  const job = { queue: 'observe', id: 'acme-137-0xT', data: { chain_id: '137', tenant_id: 'acme', contract: '0xT' } }
  const jobsOf = (type: string) =>
    balanceWork.jobsOf({ type, streamId: '-', data: { chainId: 137, contractAddress: '0xT' }, tenantId: 'acme' })
  t.strictSame([jobsOf('AssetRegistered'), jobsOf('BalanceChanged')], [[job], []])
})

t.test('every version of every event that was ever written is still read', async (t) => {
  for (const type of Object.keys(balanceAggregate.schemas)) {
    const golden = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
    const event = upcast<BalanceEvent>(balanceAggregate.schemas, golden.type, golden.schema_version, golden.data)
    t.equal(event.type, type)
    const { asset, ...known } = event.data
    t.match(given(event).state[asset.assetId], {
      balance: known.balance,
      blockNumber: known.blockNumber,
    })
  }
})

t.test('a value is in dollars and cents, rounded half up', async (t) => {
  t.equal(usdValue(1_500_000n, 6, '1'), '1.50')
  t.equal(usdValue(10n ** 18n, 18, '3012.345'), '3012.35')
  t.equal(usdValue(10n ** 18n, 18, '3012.344999999999999999'), '3012.34')
  t.equal(usdValue(5n * 10n ** 15n, 18, '1'), '0.01')
  t.equal(usdValue(5n * 10n ** 15n - 1n, 18, '1'), '0.00')
  t.equal(usdValue(7n, 0, '2.5'), '17.50')
  t.equal(usdValue(0n, 18, '3000'), '0.00')
})

t.test('a holding without a price has no value, not a value of zero', async (t) => {
  t.equal(usdValue(10n ** 18n, 18, null), null)
  t.equal(usdValue(10n ** 18n, 18, 'NaN'), null)
  t.equal(usdValue(0n, 18, ''), null)
})

t.test('no amount and no price is too large or too small for the arithmetic', async () => {
  const uint256 = fc.bigInt(0n, (1n << 256n) - 1n)
  const price = fc.tuple(fc.bigInt(0n, 10n ** 20n), fc.nat(18), fc.bigInt(0n, 10n ** 18n - 1n))
  fc.assert(
    fc.property(uint256, fc.nat(36), price, (balance, decimals, [whole, places, fraction]) => {
      const digits = places === 0 ? '' : fraction.toString().padStart(18, '0').slice(0, places)
      const value = usdValue(balance, decimals, digits === '' ? `${whole}` : `${whole}.${digits}`)
      const cents = BigInt((value ?? '').replace('.', ''))
      // cents = balance · price · 100 / 10^decimals, within half a cent: compared without a division.
      const exact = 2n * balance * (whole * 10n ** 18n + BigInt(digits.padEnd(18, '0') || '0')) * 100n
      const unit = 10n ** BigInt(decimals + 18)
      const off = 2n * cents * unit - exact
      assert.ok(off <= unit && -off < unit)
      assert.match(value ?? '', /^(0|[1-9]\d*)\.\d\d$/)
    }),
  )
})
