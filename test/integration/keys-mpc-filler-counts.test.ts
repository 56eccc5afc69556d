/** A party counts the fillers that it signs for a wallet: on disk, and by the clock of its own machine. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MAX_FILLERS_AN_HOUR, openFillerCounts } from '../../src/keys/mpc/filler-counts.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { listeningLog, temporaryDirectory } from '../support/mpc-processes.ts'

const HOUR_MS = 60 * 60_000
const alice = `0x${'aA'.repeat(20)}`
const filler = (transactionId: string, address = alice) => ({ transactionId, chainId: 1, address })

async function counting(t: Test) {
  const path = join(await temporaryDirectory(t), 'fillers.journal')
  const clock = { ms: 1_800_000_000_000 }
  return { path, clock, open: () => openFillerCounts(path, () => clock.ms) }
}

t.test('a wallet gets so many fillers in an hour, across restarts, and each is counted once', async (t) => {
  const { clock, open } = await counting(t)
  const first = await open()
  const ids = Array.from({ length: MAX_FILLERS_AN_HOUR }, (_, index) => `tx_${index}`)
  t.strictSame(await Promise.all([...ids, ...ids].map((id) => first.take(filler(id)))), Array(32).fill(true))
  t.equal(await first.take(filler('tx_more')), false)
  await first.close()
  const later = await open()
  t.equal(await later.take(filler('tx_more', alice.toLowerCase())), false, 'a restart forgets nothing')
  t.equal(await later.take(filler('tx_0')), true)
  t.equal(await later.take(filler('tx_more', `0x${'b0'.repeat(20)}`)), true, 'another wallet has its own')
  t.equal(await later.take({ ...filler('tx_more'), chainId: 2 }), true, 'on each chain')
  clock.ms -= 2 * HOUR_MS
  t.equal(await later.take(filler('tx_more')), false, 'a clock that is set back frees nothing')
  clock.ms += 3 * HOUR_MS
  t.equal(await later.take(filler('tx_more')), true, 'after an hour')
  await later.close()
})

t.test('the file stays small, and a changed line is refused', async (t) => {
  const { path, clock, open } = await counting(t)
  const counts = await open()
  for (let index = 0; index < 1_500; index += 1) {
    clock.ms += HOUR_MS
    await counts.take(filler(`tx_${index}`))
  }
  await counts.close()
  const lines = (await readFile(path, 'utf8')).split('\n')
  t.ok(lines.length < 1_000, `${lines.length} lines`)
  await writeFile(path, lines.join('\n').replace('tx_1', 'tx_9'))
  await t.rejects(open(), { code: 'mpc_journal_damaged' })
})

t.test('the journal refuses a filler above the limit, and claims beside it', async (t) => {
  const { log } = listeningLog()
  const journal = await openSigningJournal({
    directory: await temporaryDirectory(t),
    requireOwner: async () => undefined,
    log,
  })
  const claims = Array.from({ length: MAX_FILLERS_AN_HOUR + 1 }, (_, nonce) => {
    return { ...filler(`tx_${nonce}`), nonce, isFiller: true }
  })
  const results = await journal.claim([...claims, { ...filler('tx_transfer'), nonce: 90 }])
  t.strictSame(
    results.map((result) => result.granted || result.reason),
    [...Array(MAX_FILLERS_AN_HOUR).fill(true), 'too_many_fillers', true],
  )
  t.equal(journal.highestOf(1, alice), 90)
  t.strictSame(journal.noncesOf(`tx_${MAX_FILLERS_AN_HOUR}`), [])
  await journal.close()
})
