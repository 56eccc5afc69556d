/**
 * Signatures on a real PostgreSQL, with the database login of a signer: what they cost more must fit into the balance, and
 * they are not later than their transaction is valid, unless the bytes were found on chain.
 */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { EventLog } from '../../src/event-log/log.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import type { ReplacementPurpose } from '../../src/transactions/events.ts'
import { loginAs } from '../support/database-login.ts'
import { newTransactionId, transferIntent } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { append, decided, heldOf, NOW, REFUSED, type Sent, sent, withTransfers } from '../support/raw-append.ts'
import { outcomesOf } from '../support/raw-events.ts'

let made = 0
/** Bytes at this price, wei per gas; requests reserve 2. */
function bytesAt(price: bigint, nonce = 0) {
  made += 1
  const fees = { gasLimit: 21_000n, maxFeePerGas: price, maxPriorityFeePerGas: 1n }
  return { nonce, hash: `0x${made.toString(16).padStart(64, '0')}`, rawTransaction: '0x02', fees, signedAt: NOW }
}
const signature = (price: bigint, found: { readonly recovered?: true; readonly claimed?: true } = {}) =>
  ({ type: 'RecordSignature', signed: bytesAt(price), ...found }) as const
const replacement = (price: bigint, purpose: ReplacementPurpose = 'bump', found: { readonly recovered?: true } = {}) =>
  ({ type: 'RecordReplacement', signed: bytesAt(price), purpose, ...found }) as const
const own = async (log: EventLog, id: string, command: TransactionCommand, deadlines: readonly string[] = []) =>
  sent({ decisions: [await decided(log, id, command)], guards: { deadlines } })

/** The same append with all its holds as ones that may exceed the balance. */
const unfitted = ({ guards: { holds = [], releases = [], ...guards }, ...rest }: Sent): Sent => ({
  ...rest,
  guards: { ...guards, releases: [...holds.map((hold) => ({ ...hold, must_fit: false })), ...releases] },
})
const isAppended = ['accepted']
const setBalance = (pool: Pool, wei: bigint) => pool.query('UPDATE balances SET balance = $1', [wei.toString()])

async function withSigner(t: Test, count = 1) {
  const test = await withTransfers(t, count)
  return { ...test, signer: await loginAs(t, test, 'signer') }
}

t.test('a signature that costs more than was held must fit, and one that does not is refused', async (t: Test) => {
  const { pool, log, signer, ids } = await withSigner(t)
  const [id = ''] = ids
  const dear = await own(log, id, signature(3n))
  matchExactly(t, dear.guards.holds, [{ delta: '21000', must_fit: true }])
  await t.rejects(append(signer, unfitted(dear)), REFUSED, 'a hold that may exceed the balance')
  const loose = { ...dear, guards: { holds: (dear.guards.holds ?? []).map((hold) => ({ ...hold, must_fit: false })) } }
  await t.rejects(append(signer, loose), REFUSED)
  await setBalance(pool, 43_000n + 20_999n)
  t.strictSame(await outcomesOf(append(signer, dear)), ['0 insufficient_funds'])
  matchExactly(t, await heldOf(pool), [{ held: '43000' }], 'nothing is changed')
  await setBalance(pool, 43_000n + 21_000n)
  t.strictSame(await outcomesOf(append(signer, dear)), isAppended)
  const dearer = await own(log, id, replacement(4n))
  await t.rejects(append(signer, unfitted(dearer)), REFUSED)
  t.strictSame(await outcomesOf(append(signer, dearer)), ['0 insufficient_funds'])
})

t.test('what costs no more is recorded though the balance has shrunk', async (t: Test) => {
  const { pool, log, signer, ids } = await withSigner(t, 3)
  await setBalance(pool, 0n)
  const [same = '', cheaper = '', lost = ''] = ids
  t.strictSame(await outcomesOf(append(signer, await own(log, same, signature(2n)))), isAppended)
  t.strictSame(
    await outcomesOf(append(signer, await own(log, cheaper, { type: 'RecordSignature', signed: bytesAt(1n, 1) }))),
    isAppended,
  )
  const failed = { type: 'FailUnsigned', code: 'expired', message: '', now: NOW } as const
  t.strictSame(await outcomesOf(append(signer, await own(log, lost, failed))), isAppended)
  matchExactly(t, await heldOf(pool), [{ held: `${22_000n + 43_000n}` }])
})

t.test('bytes that were found on chain are recorded whatever the wallet has', async (t: Test) => {
  const { pool, log, signer, ids } = await withSigner(t, 2)
  await setBalance(pool, 0n)
  const [recovered = '', claimed = ''] = ids
  const found = await own(log, recovered, signature(9n, { recovered: true }))
  matchExactly(t, found.guards, { releases: [{ delta: `${7n * 21_000n}`, must_fit: false }] })
  t.strictSame(await outcomesOf(append(signer, found)), isAppended)
  const newer = await own(log, recovered, replacement(10n, 'bump', { recovered: true }))
  t.strictSame(await outcomesOf(append(signer, newer)), isAppended)
  const judged = { type: 'RecordSignature', signed: bytesAt(9n, 1), recovered: true, claimed: true } as const
  t.strictSame(await outcomesOf(append(signer, await own(log, claimed, judged))), isAppended)
})

t.test('a request cannot say that it was found on chain', async (t: Test) => {
  const { pool, log, url } = await withSigner(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const intent = { ...transferIntent(), recovered: true }
  const opening = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
  const made = await own(log, newTransactionId(), opening)
  await t.rejects(append(api, unfitted(made)), REFUSED)
})

t.test(
  'the amount of a cancelled transfer pays for its gas, and the hold follows what it can cost',
  async (t: Test) => {
    const { pool, log, url, signer, ids } = await withSigner(t)
    const [id = ''] = ids
    await setBalance(pool, 43_000n)
    await append(signer, await own(log, id, signature(2n)))
    const cancelled = await own(log, id, replacement(2n, 'cancel'))
    t.notOk(cancelled.guards.holds, 'nothing more is held')
    const [row] = cancelled.rows.transactions ?? []
    const hidden = { ...cancelled, rows: { transactions: [{ ...row, hashes: [] }] } }
    await t.rejects(append(signer, hidden), REFUSED, 'a row that hides that there are several bytes')
    t.strictSame(await outcomesOf(append(signer, cancelled)), isAppended)
    // 1,000 wei of the amount are left for its gas.
    const dearer = await own(log, id, replacement(3n, 'cancel'))
    matchExactly(t, dearer.guards.holds, [{ delta: '20000', must_fit: true }])
    t.strictSame(await outcomesOf(append(signer, dearer)), ['0 insufficient_funds'])
    await setBalance(pool, 63_000n)
    t.strictSame(await outcomesOf(append(signer, dearer)), isAppended)
    matchExactly(t, await heldOf(pool), [{ held: '63000' }])
    const follower = await loginAs(t, { pool, url }, 'follower')
    const inclusion = {
      hash: `0x${made.toString(16).padStart(64, '0')}`,
      blockNumber: 5,
      blockHash: '0xb',
      succeeded: true,
      logs: null,
      gasUsed: 21_000n,
      effectiveGasPrice: 2n,
      blockTimestamp: NOW,
      minedAt: NOW,
    }
    t.strictSame(
      await outcomesOf(append(follower, await own(log, id, { type: 'RecordInclusion', inclusion }))),
      isAppended,
    )
    t.strictSame(await heldOf(pool), [], 'all of it is released')
  },
)

t.test('a transaction is not signed after the time until which it is valid', async (t: Test) => {
  const { pool, log, signer } = await withSigner(t, 0)
  const until = async (ms: number) => {
    const id = newTransactionId()
    const intent = transferIntent({ validUntil: new Date(Date.now() + ms).toISOString() })
    const opening = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
    await log.append({ decisions: [await decided(log, id, opening)] })
    return id
  }
  const [late, found, timely] = [await until(-1), await until(-1), await until(60_000)]
  const tooLate = await own(log, late, signature(2n), [late])
  t.strictSame(await outcomesOf(append(signer, tooLate)), ['0 deadline_missed'])
  t.strictSame(await outcomesOf(append(pool, tooLate)), ['0 deadline_missed'], 'of the owner of the tables either')
  for (const deadlines of [[], [timely]])
    await t.rejects(append(signer, await own(log, late, signature(2n), deadlines)), REFUSED, 'without its guard')
  await pool.query('UPDATE transactions SET version = 5 WHERE transaction_id = $1', [late])
  await t.rejects(append(signer, await own(log, late, signature(2n))), REFUSED, 'nor where its row is another version')
  await pool.query('DELETE FROM transactions WHERE transaction_id = $1', [late])
  await t.rejects(append(signer, await own(log, late, signature(2n))), REFUSED, 'nor where it has no row')
  t.strictSame(await outcomesOf(append(signer, tooLate)), ['0 deadline_missed'])
  const recovered = await own(log, found, signature(2n, { recovered: true }))
  t.strictSame(await outcomesOf(append(signer, recovered)), isAppended, 'bytes that were found on chain')
  const inTime = await own(log, timely, { type: 'RecordSignature', signed: bytesAt(2n, 1) }, [timely])
  t.strictSame(await outcomesOf(append(signer, inTime)), isAppended)
  await pool.query("UPDATE transactions SET valid_until = now() - interval '1 minute'")
  t.strictSame(await outcomesOf(append(signer, inTime)), ['0 appended_before'], 'an answer that was lost is repeated')
  const bump = { type: 'RecordReplacement', signed: bytesAt(3n, 1), purpose: 'bump' } as const
  t.strictSame(await outcomesOf(append(signer, await own(log, timely, bump))), isAppended, 'later bytes may follow')
})
