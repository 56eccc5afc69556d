/** When a request that no node can simulate ends, on a real PostgreSQL. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import type { GasEstimate } from '../../src/transactions/estimate-gas.ts'
import { UNSIMULATED_FOR_MS, UNSIMULATED_TRIES } from '../../src/transactions/held-lanes.ts'
import { withLane } from '../support/lane-stage.ts'

const LONGEST_PAUSE_MS = 600_000
const ago = (ms: number) => new Date(Date.now() - ms).toISOString()
const unknown = (cause: 'silent' | 'behind' | 'refused'): GasEstimate => ({
  ok: false,
  code: 'could_not_simulate',
  reason: 'connect ECONNREFUSED 10.0.0.3:8545',
  cause,
})

let now = 0

/** Drains a lane this often, each time after the longest pause; a lane that could not simulate reports it. */
async function drained(lane: Awaited<ReturnType<typeof withLane>>, times: number) {
  lane.meanwhile.monotonicNow = () => now
  for (let tries = 0; tries < times; tries += 1) {
    await lane.drain().catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error
    })
    now += LONGEST_PAUSE_MS
  }
}

t.test('a request that is a day old fails after twelve tries in a row without a simulation', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  lane.meanwhile.estimate = async (requests) => requests.map(() => unknown('silent'))
  const id = await lane.accept({ requestedAt: ago(UNSIMULATED_FOR_MS) })
  await drained(lane, UNSIMULATED_TRIES - 1)
  t.equal((await lane.read(id)).state, 'requested')
  await drained(lane, 1)
  const { state, failure } = await lane.read(id)
  t.equal(state, 'failed')
  const message =
    'It was not signed, because it could not be simulated for a day. No node answered its simulation in time.'
  t.strictSame(failure, { code: 'not_simulated', message }, 'the address of a node is not shown')
  t.equal(await lane.held(), 0n, 'nothing is held for it any more')
})

t.test('a younger request, and one for which nodes are behind, wait however often they are tried', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  const young = await lane.accept({ requestedAt: ago(UNSIMULATED_FOR_MS - 60_000) })
  lane.meanwhile.estimate = async (requests) => requests.map(() => unknown('refused'))
  await drained(lane, UNSIMULATED_TRIES + 3)
  t.equal((await lane.read(young)).state, 'requested')
  const old = await lane.accept({ requestedAt: ago(2 * UNSIMULATED_FOR_MS) })
  lane.meanwhile.estimate = async (requests) => requests.map(() => unknown('behind'))
  await drained(lane, UNSIMULATED_TRIES + 3)
  t.equal((await lane.read(old)).state, 'requested')
  lane.meanwhile.estimate = async (requests) => requests.map(() => ({ ok: true, gasLimit: 21_000n }))
  await drained(lane, 2)
  for (const id of [young, old]) t.equal((await lane.read(id)).state, 'signed', 'and are signed once a node can')
})

t.end()
