/**
 * What a wallet has pays for everything that was accepted: what the lane signs costs no more than is left when it is
 * recorded, on a real PostgreSQL.
 */
import t, { type Test } from 'tap'
import type { Fees } from '../../src/transactions/intent.ts'
import { newestAttempt } from '../../src/transactions/state.ts'
import { type LaneStage, withLane } from '../support/lane-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const RESERVED = { gasLimit: 21_000n, maxFeePerGas: 40n * GWEI }
const costOf = ({ gasLimit, maxFeePerGas }: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => gasLimit * maxFeePerGas
const PLAIN = costOf(RESERVED)

/** Accepts a transfer of everything that is available, as a client that reads its balance. */
async function acceptTheRest({ accept, held }: LaneStage, balance: bigint): Promise<string> {
  return accept({ amount: balance - (await held()) - PLAIN })
}

async function feesOf({ read }: LaneStage, id: string): Promise<Fees> {
  const attempt = newestAttempt(await read(id))
  if (attempt === null) throw new Error(`${id} is not signed`)
  return attempt.fees
}

/** Calls that reserved 100,000 gas turn out to need this much; transfers need what they reserved. */
function callsNeed({ meanwhile }: LaneStage, gasLimit: bigint): void {
  meanwhile.estimate = async (requests) =>
    requests.map(({ mostGas }) => ({ ok: true, gasLimit: mostGas >= 200_000n ? gasLimit : 21_000n }))
}

/** Once, and with a result. */
function once(task: () => Promise<string>): { readonly run: () => Promise<void>; readonly result: () => string } {
  let id: string | null = null
  return {
    async run() {
      if (id === null) id = await task()
    },
    result: () => id ?? '',
  }
}

t.test(
  'a call that needs more gas than it reserved is signed within what a transfer leaves meanwhile',
  async (t: Test) => {
    const stage = await withLane(t, { balance: ETHER })
    const call = await stage.accept({ amount: 5n, reserved: { gasLimit: 100_000n, maxFeePerGas: 40n * GWEI } })
    callsNeed(stage, 187_000n)
    const transfer = once(() => acceptTheRest(stage, ETHER))
    stage.meanwhile.signing = transfer.run
    await stage.drain()
    t.match(await stage.read(call), { state: 'signed' })
    t.match(await stage.read(transfer.result()), { state: 'signed' }, 'the lane signs on')
    t.ok((await stage.held()) <= ETHER, `${await stage.held()} of ${ETHER} is held`)
    t.ok(costOf(await feesOf(stage, call)) <= 100_000n * 40n * GWEI, 'it costs no more than it held')
    t.strictSame(stage.short, [])
  },
)

t.test('every transaction of a batch is signed, though its second round needs more than is left', async (t: Test) => {
  const stage = await withLane(t, { balance: ETHER })
  const reserved = { gasLimit: 100_000n, maxFeePerGas: 40n * GWEI }
  const calls = []
  for (let n = 0n; n < 4n; n += 1n) calls.push(await stage.accept({ amount: n, reserved }))
  callsNeed(stage, 150_000n)
  const transfer = once(() => acceptTheRest(stage, ETHER))
  stage.meanwhile.signing = transfer.run
  await stage.drain()
  for (const id of [...calls, transfer.result()]) t.match(await stage.read(id), { state: 'signed' })
  const nonces = await Promise.all(calls.map(async (id) => newestAttempt(await stage.read(id))?.nonce))
  t.strictSame(nonces.toSorted(), [0, 1, 2, 3], 'no nonce is left out')
  t.ok((await stage.held()) <= ETHER)
})

t.test('what is left after a transfer was accepted is used, and no more', async (t: Test) => {
  const stage = await withLane(t, { balance: ETHER })
  const call = await stage.accept({ amount: 5n, reserved: { gasLimit: 100_000n, maxFeePerGas: 40n * GWEI } })
  callsNeed(stage, 187_000n)
  const left = 10_000n * 40n * GWEI
  const transfer = once(async () => stage.accept({ amount: ETHER - (await stage.held()) - PLAIN - left }))
  stage.meanwhile.signing = transfer.run
  await stage.drain()
  const cost = costOf(await feesOf(stage, call))
  t.ok(cost > 100_000n * 40n * GWEI && cost <= 110_000n * 40n * GWEI, `its fee is ${cost}`)
  t.ok((await stage.held()) <= ETHER)
})

t.test(
  'a speed-up keeps the older bytes when a transfer takes what it needs, and follows when there is more',
  async (t: Test) => {
    const stage = await withLane(t, { balance: ETHER })
    const id = await stage.accept({ amount: 5n })
    await stage.drain()
    const before = await feesOf(stage, id)
    await stage.command(id, { type: 'RequestSpeedUp', gasPriority: 'high', now: stage.log.now() })
    stage.meanwhile.price = () => 60n * GWEI
    const transfer = once(() => acceptTheRest(stage, ETHER))
    stage.meanwhile.signing = transfer.run
    await stage.drain()
    t.match(await stage.read(id), { state: 'signed', speedUpRequested: 'high' })
    t.strictSame(await feesOf(stage, id), before)
    t.ok(stage.short.includes(id), 'it is reported')
    t.match(await stage.read(transfer.result()), { state: 'signed' })
    t.ok((await stage.held()) <= ETHER)
    await stage.pool.query('UPDATE balances SET balance = balance + $1', [ETHER.toString()])
    await stage.drain()
    t.match(await stage.read(id), { state: 'replaced', speedUpRequested: null })
  },
)

t.test('a transfer of everything is cancelled: its amount pays for the gas of the cancellation', async (t: Test) => {
  const stage = await withLane(t, { balance: ETHER })
  const id = await stage.accept({ amount: ETHER - PLAIN })
  await stage.drain()
  const held = await stage.held()
  await stage.command(id, { type: 'RequestCancellation', now: stage.log.now() })
  stage.meanwhile.price = () => 60n * GWEI
  await stage.drain()
  matchExactly(t, await stage.read(id), { state: 'replaced', attempts: [{}, { purpose: 'cancel' }] })
  t.ok(costOf(await feesOf(stage, id)) > PLAIN, 'it costs more than was held for gas')
  t.equal(await stage.held(), held, 'and nothing else is held')
  await t.rejects(stage.accept({ amount: 1n }), { code: 'insufficient_funds' })
})

t.test(
  'transfers that a fallen balance no longer pays are cancelled: each pays from its own amount',
  async (t: Test) => {
    const stage = await withLane(t, { balance: 3n * ETHER })
    const ids = [await stage.accept({ amount: ETHER }), await stage.accept({ amount: ETHER })]
    await stage.drain()
    const held = await stage.held()
    await stage.pool.query('UPDATE balances SET balance = $1', [(ETHER / 2n).toString()])
    for (const id of ids) await stage.command(id, { type: 'RequestCancellation', now: stage.log.now() })
    await stage.drain()
    for (const id of ids)
      matchExactly(t, await stage.read(id), { state: 'replaced', attempts: [{}, { purpose: 'cancel' }] })
    t.strictSame(stage.short, [])
    t.equal(await stage.held(), held)
  },
)
