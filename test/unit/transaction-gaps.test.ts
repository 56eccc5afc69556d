/** A nonce without a transaction is taken by a waiting one, or by a transfer of zero: a lane never waits forever. */
import t from 'tap'
import { EMPTY_TRANSFER_GAS } from '../../src/chain/forks.ts'
import { type Commit, HoldRefused } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { Lease } from '../../src/event-log/leases.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { fillGaps } from '../../src/transactions/fill-gaps.ts'
import type { LaneReads } from '../../src/transactions/lanes.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { fold, requested, signed } from '../support/recorded-transactions.ts'

const LANE = { chainId: 1, address: requested.data.from }
const LEVEL = { maxFeePerGas: 30n, maxPriorityFeePerGas: 2n }
const QUOTE = { baseFeePerGas: 14n, low: LEVEL, medium: LEVEL, high: LEVEL }

type LaneState = {
  readonly gaps: readonly number[]
  readonly waiting: readonly string[]
  readonly spare?: bigint
  readonly emptyGas?: bigint
  /** Fillers of the last hour. */
  readonly lately?: number
  /** What a quorum says. */
  readonly count?: number | null
  /** A request takes meanwhile what was spare. */
  readonly isOvertaken?: boolean
}

async function fill(lane: LaneState) {
  const appended: Commit[] = []
  const log = {
    loadMany: async (_aggregate: unknown, ids: readonly string[]) =>
      ids.map((id) => ({ id, state: fold([requested, signed]), version: 2, hash: '' })),
    commit: createCommit(async (commit) => {
      if (lane.isOvertaken) throw new HoldRefused({ asset_id: 'eth', available: '0', needed: '1' })
      appended.push(commit)
    }),
    now: () => '2026-11-21T12:00:00.000Z',
  } as unknown as EventLog
  const lanes = {
    gaps: async () => lane.gaps,
    waiting: async (_lane: unknown, limit: number) => lane.waiting.slice(0, limit),
    stuck: async () => ['tx_stuck'],
    fillersOfHour: async () => lane.lately ?? 0,
    spare: async () => lane.spare ?? 10n ** 18n,
  } as unknown as LaneReads
  const filled: number[] = []
  let made = 0
  const ctx = {
    log,
    lanes,
    laneChainOf: () => ({
      settings: { network: 'ethereum', minTipWei: 1n },
      quote: async () => QUOTE,
      emptyGas: async () => lane.emptyGas ?? EMPTY_TRANSFER_GAS,
    }),
    countOf: async () => (lane.count === undefined ? 3 : lane.count),
    newId: () => `tx_${++made}`,
    config: { replaceAfterMs: 1_000 },
    logger: { warn: ({ nonces }: { readonly nonces: readonly number[] }) => void filled.push(...nonces) },
  } as unknown as Parameters<typeof fillGaps>[0]
  const gaps = await fillGaps(ctx, LANE, { name: 'sign', fence: 7n } as unknown as Lease)
  return { gaps, filled, appended }
}

t.test('a lane without a gap is not changed', async (t) => {
  t.strictSame(await fill({ gaps: [], waiting: [] }), { gaps: 0, filled: [], appended: [] })
})

t.test('waiting transactions take the nonces of a gap', async (t) => {
  t.strictSame(await fill({ gaps: [3], waiting: ['tx_a', 'tx_b'] }), { gaps: 1, filled: [], appended: [] })
})

t.test(
  'where nothing waits, transfers of nothing are recorded under the fence, and paid by the same wallet',
  async (t) => {
    const { gaps, filled, appended } = await fill({ gaps: [3, 5], waiting: ['tx_a'] })
    t.strictSame([gaps, filled], [2, [5]])
    const [commit] = appended
    t.match(commit?.guards?.fence, { name: 'sign', fence: 7n })
    t.match(commit?.decisions[0]?.readModels.rows[0]?.row, {
      type: 'NONCE_FILL',
      wallet_id: requested.data.walletId,
      from_address: LANE.address,
      to_address: LANE.address,
      amount: '0',
    })
    matchExactly(t, commit?.decisions[0]?.readModels.holds, [{ delta: 21_000n * 30n, mustFit: true }])
  },
)

/** The least that can be mined: the base fee of 14 wei and a tip of 1. */
const LEAST = 21_000n * 15n

t.test('a filler costs no more than the wallet can spare, as long as it can be mined', async (t) => {
  const { filled, appended } = await fill({ gaps: [3], waiting: [], spare: LEAST + 21_000n })
  t.strictSame(filled, [3])
  const { readModels } = appended[0]?.decisions[0] ?? {}
  matchExactly(t, readModels?.holds, [{ delta: LEAST + 21_000n, mustFit: true }])
})

t.test('a gap that the wallet cannot pay for stays, and takes nothing of what its transfers hold', async (t) => {
  for (const spare of [LEAST - 1n, 0n, -LEAST])
    t.strictSame(await fill({ gaps: [3], waiting: [], spare }), { gaps: 1, filled: [], appended: [] })
})

t.test('a gap stays while a request takes what its filler was to cost', async (t) => {
  t.strictSame(await fill({ gaps: [3], waiting: [], isOvertaken: true }), { gaps: 1, filled: [], appended: [] })
})

t.test('of several gaps the lowest are filled, as far as the wallet can pay for all of them together', async (t) => {
  const { filled, appended } = await fill({ gaps: [3, 5, 6], waiting: [], spare: 2n * LEAST + 3n })
  t.strictSame(filled, [3, 5])
  for (const decision of appended[0]?.decisions ?? []) matchExactly(t, decision.readModels.holds, [{ delta: LEAST }])
})

t.test('a filler reserves, and costs, what a transfer of nothing needs by the rules of the chain', async (t) => {
  const emptyGas = 26_250n
  const { appended } = await fill({ gaps: [3], waiting: [], emptyGas })
  matchExactly(t, appended[0]?.decisions[0]?.readModels.holds, [{ delta: emptyGas * 30n, mustFit: true }])
  const least = emptyGas * 15n
  t.strictSame((await fill({ gaps: [3], waiting: [], emptyGas, spare: least - 1n })).appended, [])
  t.equal((await fill({ gaps: [3], waiting: [], emptyGas, spare: least })).appended.length, 1)
})

t.test('a wide gap, as from a wrong transaction count, gets only some fillers in an hour', async (t) => {
  const gaps = Array.from({ length: 16 }, (_, index) => 3 + index)
  t.equal((await fill({ gaps, waiting: [] })).filled.length, 16)
  t.strictSame((await fill({ gaps, waiting: [], lately: 14 })).filled, [3, 4])
  t.strictSame((await fill({ gaps, waiting: ['tx_a'], lately: 14 })).filled, [4, 5])
  t.strictSame((await fill({ gaps, waiting: [], lately: 16 })).appended, [])
})

t.test('without a quorum of the nodes no nonce is filled', async (t) => {
  t.strictSame(await fill({ gaps: [3], waiting: [], count: null }), { gaps: 0, filled: [], appended: [] })
})
