/** A lane whose signer signs less than it is asked for, as mpc parties do, on a real PostgreSQL. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { NonceClaimed, SigningRefused } from '../../src/keys/signer.ts'
import type { GasEstimate } from '../../src/transactions/estimate-gas.ts'
import { withLane } from '../support/lane-stage.ts'

t.test('all that waits is signed, although the signer signs only some of it at once', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  lane.meanwhile.signedAtOnce = 2
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) ids.push(await lane.accept())
  await lane.drain()
  const states = await Promise.all(ids.map(async (id) => (await lane.read(id)).state))
  t.strictSame(states, ['signed', 'signed', 'signed', 'signed', 'signed'], 'without waiting for new work')
})

t.test('a nonce that parties gave to what could not be simulated is used once it can be', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  const first = await lane.accept()
  const bound = await lane.accept({ data: '0x12345678', to: '0x00000000000000000000000000000000000000aa' })
  let canSimulate = false
  const not: GasEstimate = { ok: false, code: 'could_not_simulate', reason: 'no', cause: 'silent' }
  lane.meanwhile.estimate = async (requests) =>
    requests.map(({ call }) => (call.data === '0x' || canSimulate ? { ok: true, gasLimit: 21_000n } : not))
  let now = 0
  lane.meanwhile.monotonicNow = () => now
  lane.meanwhile.signing = async (requests) => {
    const nonceOf = (id: string) => requests.find(({ intent }) => intent.id === id)?.transaction.nonce
    const [wanted] = requests
    if (wanted?.transaction.nonce !== 0 || wanted.intent.id === bound) return
    if (nonceOf(bound) !== undefined) throw new NonceClaimed(bound, 0)
    throw new SigningRefused(wanted.intent.id, 'this party already signed the nonce for another')
  }
  const drain = () => lane.drain().catch((error: unknown) => t.type(error, Unavailable))
  await drain()
  canSimulate = true
  for (let tries = 0; tries < 3; tries += 1) {
    now += 600_000
    await drain()
  }
  const states = await Promise.all([first, bound].map(async (id) => (await lane.read(id)).state))
  t.strictSame(states, ['signed', 'signed'], 'the lane goes on')
})

t.end()
