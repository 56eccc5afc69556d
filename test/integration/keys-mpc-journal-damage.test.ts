/** A journal that another process writes to, or that is changed while it is open: nothing is granted any more. */
import { appendFile, chmod, readFile, rename, truncate, unlink, writeFile } from 'node:fs/promises'
import t from 'tap'
import { claim, granted, openJournal, taken } from '../support/signing-journals.ts'

t.test('what another process wrote is never removed, and nothing is granted after it', async (t) => {
  const ours = await openJournal(t)
  await ours.journal.claim([claim('a', 5)])
  const theirs = await openJournal(t, ours.directory)
  t.strictSame(await ours.journal.claim([claim('b', 6)]), [granted])
  const whole = await readFile(ours.path, 'utf8')
  await t.rejects(theirs.journal.claim([claim('c', 6)]), { code: 'mpc_journal_damaged' })
  t.match(theirs.journal.damage(), { code: 'mpc_journal_damaged' })
  await t.rejects(theirs.journal.claim([claim('a', 5)]), { code: 'mpc_journal_damaged' })
  t.equal(await readFile(ours.path, 'utf8'), whole)
  t.strictSame(await ours.journal.claim([claim('c', 6)]), [taken('b')])
  await Promise.all([ours.journal.close(), theirs.journal.close()])
})

t.test('of two processes that write at once no two are granted one nonce', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const first = await openJournal(t)
    const second = await openJournal(t, first.directory)
    const all = await Promise.allSettled([first.journal.claim([claim('a', 5)]), second.journal.claim([claim('b', 5)])])
    const allowed = all.filter((each) => each.status === 'fulfilled' && each.value[0]?.granted)
    t.ok(allowed.length <= 1, `${allowed.length} were granted`)
    await Promise.all([first.journal.close(), second.journal.close()])
  }
})

t.test('damage while the journal is open ends every grant; a change of its mode does not', async (t) => {
  const damages: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => truncate(path, 10),
    (path) => unlink(path),
    (path) => appendFile(path, 'x'),
    (path) => writeFile(path, 'x'),
    // A copy with the same content: this process would go on writing to the other file.
    async (path) => {
      await writeFile(`${path}.copy`, await readFile(path))
      await rename(`${path}.copy`, path)
    },
    async (path) => {
      const contents = await readFile(path)
      contents[20] = (contents[20] ?? 0) ^ 1
      await writeFile(path, contents)
    },
  ]
  for (const damage of damages) {
    const { journal, path } = await openJournal(t)
    await journal.claim([claim('a', 5)])
    await chmod(path, 0o640)
    await journal.check()
    t.equal(journal.damage(), null)
    await damage(path)
    await t.rejects(journal.check(), { code: 'mpc_journal_damaged' })
    await t.rejects(journal.claim([claim('a', 5)]), { code: 'mpc_journal_damaged' })
    await journal.close()
  }
})
