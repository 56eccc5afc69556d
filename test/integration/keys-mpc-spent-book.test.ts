/** A party adds up what it has helped to spend of a limit: on disk, each transaction once, in every interval as long as the window. */
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SpentLimit } from '../../src/keys/coverage.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { openSpentBook, type RevertedOf } from '../../src/keys/mpc/spent-book.ts'
import { listeningLog, temporaryDirectory } from '../support/mpc-processes.ts'

const HOUR_MS = 3_600_000
const NOW = Date.parse('2026-11-26T12:00:00.000Z')
const bucket = (hours: number) => new Date(NOW + hours * HOUR_MS).toISOString()
const cap = (amount: bigint, more: Partial<SpentLimit> = {}): SpentLimit => ({
  ...{ counter: 'policy acme cap', bucket: bucket(0), windowSeconds: 24 * 3_600, limit: 100n, amount, kept: 1n },
  ...more,
})
const NONE: RevertedOf = async () => []
const spending = (transactionId: string, ...limits: SpentLimit[]) => ({ transactionId, limits })

async function withBook(t: Test) {
  const path = join(await temporaryDirectory(t), 'limits.journal')
  return { path, open: (now = NOW) => openSpentBook(path, () => now) }
}

t.test('no interval as long as the window has more than the limit, across restarts', async (t) => {
  const { open } = await withBook(t)
  const book = await open()
  const take = (id: string, amount: bigint, hours: number) =>
    book.take(spending(id, cap(amount, { bucket: bucket(hours) })), NONE)
  t.equal(await take('tx_1', 60n, 0), true)
  t.equal(await take('tx_1', 60n, 0), true, 'the same one again counts once')
  t.equal(await take('tx_2', 41n, 1), false)
  t.equal(await take('tx_2', 40n, 1), true)
  t.equal(await take('tx_3', 1n, 24), false, 'the window reaches back to the first one')
  t.equal(await take('tx_4', 60n, 25), true, 'a window later there is room')
  t.equal(await take('tx_5', 41n, 13), false, 'also between: the later one counts')
  await book.close()
  const later = await open()
  t.equal(await later.take(spending('tx_6', cap(1n)), NONE), false, 'a restart forgets nothing')
  t.equal(await later.take(spending('tx_2', cap(40n, { bucket: bucket(1) })), NONE), true)
  t.equal(await later.take(spending('tx_6', cap(1n, { counter: 'policy acme other' })), NONE), true)
  await later.close()
})

t.test('a limit that was lowered does not refuse what was accepted before, and a raised one has room', async (t) => {
  const { open } = await withBook(t)
  const book = await open()
  t.equal(await book.take(spending('tx_1', cap(90n)), NONE), true)
  t.equal(await book.take(spending('tx_2', cap(10n, { limit: 50n })), NONE), true, 'accepted before it was lowered')
  t.equal(await book.take(spending('tx_3', cap(10n, { limit: 50n })), NONE), false)
  t.equal(await book.take(spending('tx_4', cap(100n, { limit: 200n })), NONE), true)
  await book.close()
})

t.test('only what the chain shows as reverted is given back, but its fee', async (t) => {
  const { open } = await withBook(t)
  const book = await open()
  const asked: (readonly string[])[] = []
  const reverted: RevertedOf = async (ids) => {
    asked.push(ids)
    return ids.filter((id) => id === 'tx_1')
  }
  for (const id of ['tx_1', 'tx_2']) t.equal(await book.take(spending(id, cap(50n)), reverted), true)
  t.strictSame(asked, [], 'nobody is asked while there is room')
  t.equal(await book.take(spending('tx_3', cap(50n)), reverted), false, 'the fee of the first one stays')
  t.equal(await book.take(spending('tx_3', cap(49n)), reverted), true)
  t.strictSame(asked, [['tx_1', 'tx_2']], 'what is given back makes room without asking')
  await book.close()
})

t.test('the file stays small, forgets what no window reaches, and a changed line is refused', async (t) => {
  const { path, open } = await withBook(t)
  const book = await open(NOW + 200_000 * HOUR_MS)
  for (let n = 0; n < 1_200; n += 1) await book.take(spending(`tx_${n}`, cap(1n, { bucket: bucket(100 * n) })), NONE)
  await book.close()
  const lines = (await readFile(path, 'utf8')).split('\n')
  t.ok(lines.length < 1_000, `${lines.length} lines`)
  await writeFile(path, lines.join('\n').replace('policy acme', 'policy acne'))
  await t.rejects(open(), { code: 'mpc_journal_damaged' })
})

t.test(
  'the journal refuses a claim above a limit, claims beside it, and everything when the book is damaged',
  async (t) => {
    const directory = await temporaryDirectory(t)
    const journal = await openSigningJournal({
      directory,
      requireOwner: async () => undefined,
      log: listeningLog().log,
    })
    const address = `0x${'aa'.repeat(20)}`
    const claim = (transactionId: string, nonce: number, ...limits: SpentLimit[]) => ({
      ...{ transactionId, chainId: 1, address, nonce },
      limits,
    })
    const results = await journal.claim([claim('tx_1', 0, cap(80n)), claim('tx_2', 1, cap(30n)), claim('tx_3', 2)])
    t.strictSame(
      results.map((result) => result.granted || result.reason),
      [true, 'over_limit', true],
    )
    t.strictSame(journal.noncesOf('tx_2'), [], 'what is refused claims no nonce')
    await journal.check()
    await appendFile(join(directory, 'limits.journal'), 'x')
    await t.rejects(journal.claim([claim('tx_4', 3, cap(1n))]), { code: 'mpc_journal_damaged' })
    await t.rejects(journal.check(), { code: 'mpc_journal_damaged' })
    t.match(journal.damage(), { code: 'mpc_journal_damaged' })
    await journal.close()
    await writeFile(join(directory, 'limits.journal'), 'x\n')
    const later = await openSigningJournal({ directory, requireOwner: async () => undefined, log: listeningLog().log })
    await t.rejects(later.claim([claim('tx_5', 4)]), { code: 'mpc_journal_damaged' }, 'no claim at all')
    await later.close()
  },
)
