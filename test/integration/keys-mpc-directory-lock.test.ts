/** One process has the directory of a party: others are refused while it lives, and none is kept out by a dead one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CHECK_LIMITS, openCheckCounts } from '../../src/keys/mpc/check-counts.ts'
import { lockDirectory } from '../../src/keys/mpc/directory-lock.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { freshKek, listeningLog, temporaryDirectory } from '../support/mpc-processes.ts'

const HOLDER = fileURLToPath(new URL('../support/lock-holder.ts', import.meta.url))

/** Another process that takes the lock, and says so or why not. */
async function holder(t: Test, directory: string): Promise<{ readonly process: ChildProcess; readonly said: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', HOLDER, directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  return { process: child, said: String(line).trim() }
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const refused = { code: 'mpc_party_running', message: /is in use: process \d+ on .* has it/ }

t.test(
  'a second process is refused, and also while the first one is paused; after kill -9 the next one has it',
  async (t) => {
    const directory = await temporaryDirectory(t)
    const { log, lines } = listeningLog()
    const first = await holder(t, directory)
    t.equal(first.said, 'held')
    t.equal((await holder(t, directory)).said, 'mpc_party_running')
    await t.rejects(lockDirectory({ directory, log }), refused)
    first.process.kill('SIGSTOP')
    await t.rejects(lockDirectory({ directory, log }), refused)
    await killed(first.process)
    const mine = await lockDirectory({ directory, log })
    await mine.requireHeld()
    t.equal((await holder(t, directory)).said, 'mpc_party_running')
    await mine.release()
    t.equal((await holder(t, directory)).said, 'held')
    t.strictSame(lines, [], 'nobody had to wait')
  },
)

t.test('of ten processes that find a dead owner at once, one gets the directory', async (t) => {
  const directory = await temporaryDirectory(t)
  await killed((await holder(t, directory)).process)
  const said = await Promise.all(Array.from({ length: 10 }, async () => (await holder(t, directory)).said))
  t.strictSame(said.sort(), ['held', ...Array.from({ length: 9 }, () => 'mpc_party_running')])
  t.equal((await readdir(join(directory, 'lock'))).length, 1)
})

t.test('an owner on another host counts as alive while it touches its file, and as gone when it stops', async (t) => {
  const directory = await temporaryDirectory(t)
  const { log, lines } = listeningLog()
  const fast = { directory, log, beatMs: 20, silentMs: 400 }
  const elsewhere = await lockDirectory(fast)
  const path = join(directory, 'lock', '1')
  const owner = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...owner, kernel: 'of another host', host: 'elsewhere' }))
  await t.rejects(lockDirectory(fast), { code: 'mpc_party_running', message: /on elsewhere has it/ })
  t.equal(lines.length, 1, 'it says that it waits')
  await elsewhere.release()
  await writeFile(path, JSON.stringify({ ...owner, kernel: 'of another host' }))
  await utimes(path, 1, 1)
  const next = await lockDirectory(fast)
  await next.requireHeld()
  await t.rejects(elsewhere.requireHeld(), { code: 'mpc_directory_lost' }, 'the one before sees it')
  await next.release()
})

t.test('a file that is no lock keeps nobody out, and a reused process id is another process', async (t) => {
  const directory = await temporaryDirectory(t)
  const { log } = listeningLog()
  const fast = { directory, log, beatMs: 20, silentMs: 100 }
  const first = await lockDirectory(fast)
  const path = join(directory, 'lock', '1')
  const owner = JSON.parse(await readFile(path, 'utf8')) as object
  await first.release()
  await writeFile(path, JSON.stringify({ ...owner, started: '1' }))
  const second = await lockDirectory(fast)
  await second.release()
  for (const wrong of ['', 'null', '{"pid":"x"}', '\0\0\0']) {
    const [name = ''] = await readdir(join(directory, 'lock'))
    await writeFile(join(directory, 'lock', name), wrong)
    await (await lockDirectory(fast)).release()
  }
})

t.test('a process that lost its directory grants nothing', async (t) => {
  for (const lose of ['taken', 'removed'] as const) {
    const directory = await temporaryDirectory(t)
    const { log } = listeningLog()
    const lock = await lockDirectory({ directory, log })
    const journal = await openSigningJournal({ directory, requireOwner: lock.requireHeld, log })
    const claim = { transactionId: 'a', chainId: 1, address: `0x${'aa'.repeat(20)}`, nonce: 5 }
    t.strictSame(await journal.claim([claim]), [{ granted: true }])
    if (lose === 'taken') await writeFile(join(directory, 'lock', '2'), '{}')
    else await rm(join(directory, 'lock'), { recursive: true })
    await t.rejects(journal.claim([claim]), { code: 'mpc_directory_lost' })
    await t.rejects(journal.check(), { code: 'mpc_directory_lost' })
    t.match(lock.lost(), /another process has taken/)
    await journal.close()
    await lock.release()
  }
})

t.test('a process that lost its directory writes and removes no share, and lowers no count of checks', async (t) => {
  const directory = await temporaryDirectory(t)
  const { log } = listeningLog()
  const lock = await lockDirectory({ directory, log })
  const kek = freshKek()
  const store = await openShareStore({ directory, party: 1, kek, requireOwner: lock.requireHeld })
  const facts = { threshold: 2, parties: 3, publicKey: '0x02', address: '0x12' }
  for (const generation of ['generated', 'rfr_1']) await store.prepare('mkey_1', generation, randomBytes(50), facts)
  const checks = join(directory, 'checks')
  const counts = await openCheckCounts(checks, () => true, CHECK_LIMITS, lock.requireHeld)
  const key = { keyId: 'mkey_1', refreshId: null }
  await (await counts.count(key, 1)).kept
  const [file = ''] = await readdir(checks)
  const files = await readdir(join(directory, 'shares'))

  await writeFile(join(directory, 'lock', '2'), '{}')
  await writeFile(join(checks, file), '9999\n')
  const lost = { code: 'mpc_directory_lost' }
  await t.rejects(store.prepare('mkey_1', 'rfr_2', randomBytes(50), facts), lost)
  await t.rejects(store.settle('mkey_1', 'rfr_1'), lost)
  await t.rejects(store.drop('mkey_1', 'generated'), lost)
  await t.rejects((await counts.count(key, 300)).kept, { code: 'mpc_count_failed' })
  t.strictSame(await readdir(join(directory, 'shares')), files)
  t.equal(await readFile(join(checks, file), 'utf8'), '9999\n', 'the count of the process that has the directory')
  await lock.release()
})

t.test('a lock that cannot be read for a moment grants nothing, and is not lost', async (t) => {
  const directory = await temporaryDirectory(t)
  const { log } = listeningLog()
  const lock = await lockDirectory({ directory, log, beatMs: 60_000 })
  const [folder, aside] = [join(directory, 'lock'), join(directory, 'aside')]
  await rename(folder, aside)
  await writeFile(folder, '')
  await t.rejects(lock.requireHeld(), { code: 'mpc_directory_lost', message: /cannot be read/ })
  t.equal(lock.lost(), null)
  await rm(folder)
  await rename(aside, folder)
  await t.resolves(lock.requireHeld())
  await lock.release()
})
