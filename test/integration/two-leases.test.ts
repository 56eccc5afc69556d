/**
 * During an upgrade an old signer may hold the lease of a lane, and a new one that of its partition: both sign in it at
 * once. The database keeps them apart.
 */
import t from 'tap'
import type { KnownTransaction } from '../../src/transactions/state.ts'
import { withLane } from '../support/lane-stage.ts'

const ETHER = 10n ** 18n
const SIMULATED = { ok: true, gasLimit: 21_000n } as const
const UNSIMULATED = { ok: false, code: 'could_not_simulate', reason: 'timeout', cause: 'silent' } as const
/** To whom the later request pays: ids of one millisecond have any order. */
const LATER = '0x00000000000000000000000000000000000000Aa'

const nonceOf = async (transaction: Promise<KnownTransaction>) => (await transaction).attempts.at(-1)?.nonce

t.test('two signers with different leases give no nonce twice and sign nothing twice', async (t) => {
  const { pool, accept, drain, drainAsBefore, meanwhile, read } = await withLane(t, { balance: ETHER })
  const ids = [await accept(), await accept(), await accept()]
  let batches = 0
  meanwhile.signing = async () => {
    batches += 1
    if (batches === 1) await drainAsBefore()
  }
  await t.rejects(drain(), { code: 'stream_conflict' }, 'the append of the second is refused')
  t.equal(batches, 2, 'both signed the same requests')
  for (const id of ids) t.equal((await read(id)).attempts.length, 1)
  await drain()
  t.equal(batches, 2, 'nothing is left')
  const { rows } = await pool.query(
    'SELECT count(*)::integer AS n, count(DISTINCT nonce)::integer AS nonces FROM transactions',
  )
  t.strictSame(rows, [{ n: 3, nonces: 3 }])
})

t.test(
  'two signers that give one nonce to different requests: the second is refused, and gives the next one',
  async (t) => {
    const { pool, accept, drain, drainAsBefore, meanwhile, read } = await withLane(t, { balance: ETHER })
    let now = 0
    meanwhile.monotonicNow = () => now
    const first = await accept()
    let later = ''
    let batches = 0
    meanwhile.signing = async () => {
      batches += 1
      if (batches !== 1) return
      later = await accept({ to: LATER })
      // No node simulates the first request for the other signer: it gives the nonce to the later one.
      meanwhile.estimate = async (requests) => requests.map(({ call }) => (call.to === LATER ? SIMULATED : UNSIMULATED))
      await t.rejects(drainAsBefore(), { code: 'rpc_unavailable' })
    }
    await t.rejects(drain(), {
      code: 'unique_rule_broken',
      message: 'The change violates the constraint transactions_nonce_once.',
    })
    t.strictSame([await nonceOf(read(later)), await nonceOf(read(first))], [0, undefined])
    meanwhile.estimate = async (requests) => requests.map(() => SIMULATED)
    now += 3_600_000
    await drain()
    t.equal(await nonceOf(read(first)), 1)
    const { rows } = await pool.query('SELECT nonce::integer, state FROM transactions ORDER BY nonce')
    t.strictSame(rows, [
      { nonce: 0, state: 'signed' },
      { nonce: 1, state: 'signed' },
    ])
  },
)

t.end()
