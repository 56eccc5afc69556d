/** Nothing is signed after the time until which its request is valid, however long its simulation and its signature take. */
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { newestAttempt } from '../../src/transactions/state.ts'
import { type LaneStage, withLane } from '../support/lane-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const HALF_SECOND = 500

const soon = (ms = HALF_SECOND) => new Date(Date.now() + ms).toISOString()
const nonceOf = async ({ read }: LaneStage, id: string) => newestAttempt(await read(id))?.nonce

t.test('a transaction whose simulation takes until after its deadline is not signed', async (t: Test) => {
  const stage = await withLane(t, { balance: ETHER })
  const id = await stage.accept({ validUntil: soon() })
  const { estimate } = stage.meanwhile
  stage.meanwhile.estimate = async (requests) => {
    await delay(2 * HALF_SECOND)
    return estimate(requests)
  }
  await stage.drain()
  matchExactly(t, await stage.read(id), { state: 'failed', attempts: [], failure: { code: 'expired' } })
  t.equal(await stage.held(), 0n)
})

t.test(
  'of a batch that takes too long those fail that are too late, and the others get all nonces',
  async (t: Test) => {
    const stage = await withLane(t, { balance: ETHER })
    const ids: { readonly id: string; readonly isLate: boolean }[] = []
    for (const isLate of [false, true, false, true, false])
      ids.push({ id: await stage.accept(isLate ? { validUntil: soon() } : {}), isLate })
    const far = await stage.accept({ validUntil: new Date(Date.now() + 60_000).toISOString() })
    stage.meanwhile.signing = () => delay(2 * HALF_SECOND)
    await stage.drain()
    const nonces: (number | undefined)[] = []
    for (const { id, isLate } of [...ids, { id: far, isLate: false }]) {
      t.match(await stage.read(id), isLate ? { state: 'failed', failure: { code: 'expired' } } : { state: 'signed' })
      if (!isLate) nonces.push(await nonceOf(stage, id))
    }
    t.strictSame(nonces.toSorted(), [0, 1, 2, 3])
  },
)

t.test('a transaction that was signed in time is sped up after its deadline', async (t: Test) => {
  const stage = await withLane(t, { balance: ETHER })
  const id = await stage.accept({ validUntil: soon(6 * HALF_SECOND) })
  await stage.drain()
  t.match(await stage.read(id), { state: 'signed' })
  await delay(7 * HALF_SECOND)
  await stage.command(id, { type: 'RequestSpeedUp', gasPriority: 'high', now: stage.log.now() })
  await stage.drain()
  t.match(await stage.read(id), { state: 'replaced' })
})

t.test(
  'a transaction whose signature waits for the account until after its deadline is not signed',
  async (t: Test) => {
    const stage = await withLane(t, { balance: ETHER })
    const deadline = Date.now() + 3 * HALF_SECOND
    // It needs less than was reserved, so that a part of the hold is released.
    const reserved = { gasLimit: 21_000n, maxFeePerGas: 100n * GWEI }
    const id = await stage.accept({ validUntil: new Date(deadline).toISOString(), reserved })
    stage.meanwhile.estimate = async (requests) => requests.map(() => ({ ok: true, gasLimit: 20_000n }))
    const other = await stage.pool.connect()
    stage.meanwhile.signing = async () => {
      stage.meanwhile.signing = async () => undefined
      await delay(deadline - Date.now() - HALF_SECOND / 2)
      await other.query('BEGIN')
      await other.query('SELECT FROM wallet_holds FOR UPDATE')
      setTimeout(() => void other.query('COMMIT'), HALF_SECOND)
    }
    await stage.drain()
    other.release()
    matchExactly(t, await stage.read(id), { state: 'failed', attempts: [], failure: { code: 'expired' } })
    t.equal(await stage.held(), 0n)
  },
)
