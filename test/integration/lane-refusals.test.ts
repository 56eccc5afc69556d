/** What a lane still does when parties refuse to sign one of its transactions, on a real PostgreSQL. */
import t from 'tap'
import { SigningRefused } from '../../src/keys/signer.ts'
import { withLane } from '../support/lane-stage.ts'

const REFUSED = { code: 'mpc_refused' }
const LONGEST_PAUSE_MS = 600_000

type Lane = Awaited<ReturnType<typeof withLane>>

/** As parties do: they sign what is before the refused one. */
function refuse(lane: Lane, id: string): void {
  lane.meanwhile.signing = async ([first]) => {
    if (first?.intent.id === id) throw new SigningRefused(id, 'it is not in the log')
  }
}

const states = (lane: Lane, ids: readonly string[]) => Promise.all(ids.map(async (id) => (await lane.read(id)).state))

async function ageAll({ pool }: Lane): Promise<void> {
  await pool.query("UPDATE transactions SET updated_at = now() - interval '1 hour'")
}

t.test('what could not be simulated is tried again although the parties refuse another one', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  lane.meanwhile.monotonicNow = () => 0
  const { estimate } = lane.meanwhile
  lane.meanwhile.estimate = async (requests) =>
    requests.map(() => ({ ok: false, code: 'could_not_simulate', reason: 'silence', cause: 'silent' }))
  const due = await lane.accept()
  await t.rejects(lane.drain(), { code: 'rpc_unavailable' })
  Object.assign(lane.meanwhile, { estimate, monotonicNow: () => LONGEST_PAUSE_MS })
  const refused = await lane.accept()
  refuse(lane, refused)
  await t.rejects(lane.drain(), REFUSED, 'the lane reports it, and tries it again')
  t.strictSame(await states(lane, [due, refused]), ['signed', 'requested'])
})

t.test('a gap is filled although the parties refuse what waits first', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  lane.meanwhile.count = 1
  const stuck = await lane.accept()
  await lane.drain()
  await ageAll(lane)
  const refused = await lane.accept()
  refuse(lane, refused)
  await t.rejects(lane.drain(), REFUSED)
  // As after a reorg: the transaction with the first nonce is in no block any more. What is refused fills no gap.
  lane.meanwhile.count = 0
  await t.rejects(lane.drain(), REFUSED)
  const { rows } = await lane.pool.query<{ transaction_id: string; nonce: string }>(
    "SELECT transaction_id, nonce FROM transactions WHERE type = 'NONCE_FILL'",
  )
  t.strictSame(
    rows.map(({ nonce }) => Number(nonce)),
    [0],
  )
  const fillers = rows.map(({ transaction_id: id }) => id)
  t.strictSame(await states(lane, [stuck, refused, ...fillers]), ['signed', 'requested', 'signed'])
})

t.test('what waits is signed although the parties refuse a higher fee', async (t) => {
  const lane = await withLane(t, { balance: 10n ** 18n })
  const stuck = await lane.accept()
  await lane.drain()
  await ageAll(lane)
  const { price } = lane.meanwhile
  lane.meanwhile.price = () => 2n * price()
  refuse(lane, stuck)
  const next = await lane.accept()
  await lane.drain()
  t.strictSame(await states(lane, [stuck, next]), ['signed', 'signed'])
  t.strictSame(lane.short, [stuck], 'the refusal is reported')
})

t.end()
