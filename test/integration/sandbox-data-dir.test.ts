/** The sandbox's directory: used by one live process, emptied only when it is a sandbox's. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDataDir } from '../../src/sandbox/data-dir.ts'
import { birthOf, startChild, stopChild } from '../../src/sandbox/processes.ts'

async function place(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-data-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

async function stranger(t: Test, directory: string) {
  const logFile = join(directory, 'stranger.log')
  const child = await startChild({ command: 'sleep', args: ['600'], logFile, onParentDeath: 'TERM' })
  t.after(() => stopChild(child, 'SIGKILL', 1_000))
  return child
}

t.test('a directory that a live process holds is refused in one line, and not changed', async (t) => {
  const directory = await place(t)
  await openDataDir({ directory, reset: false })
  const holder = await stranger(t, directory)
  await writeFile(join(directory, 'sandbox.pid'), `${holder.pid} ${birthOf(holder.pid)}\n`)
  for (const reset of [false, true]) {
    const error = await openDataDir({ directory, reset }).catch((error: Error) => error)
    t.match(error, { name: 'SandboxRefused' })
    t.equal(
      error?.message,
      `A sandbox is already running in ${directory} (process ${holder.pid}): stop it, or set DATA_DIR to another directory.`,
    )
  }
  t.ok(existsSync(join(directory, 'stranger.log')))
})

t.test('the lock of a process that ended blocks nothing, even when another program has its pid', async (t) => {
  const directory = await place(t)
  const reused = await stranger(t, directory)
  const before = `${birthOf(reused.pid)}`.replace(/\d+$/, '1')
  await writeFile(join(directory, 'sandbox.pid'), `${reused.pid} ${before}\n`)
  await openDataDir({ directory, reset: false })
  t.equal(await readFile(join(directory, 'sandbox.pid'), 'utf8'), `${process.pid} ${birthOf(process.pid)}\n`)
})

t.test(
  'two processes that live at the same time never look the same, and one that ended looks like none',
  async (t) => {
    const directory = await place(t)
    const child = await stranger(t, directory)
    const birth = birthOf(child.pid)
    t.ok(birth)
    t.equal(birthOf(child.pid), birth)
    await stopChild(child, 'SIGKILL', 1_000)
    t.equal(birthOf(child.pid), undefined)
  },
)

t.test('reset empties a directory of ours, and refuses one that is not', async (t) => {
  const ours = await place(t)
  await openDataDir({ directory: ours, reset: false })
  await mkdir(join(ours, 'chains'))
  await openDataDir({ directory: ours, reset: true })
  t.notOk(existsSync(join(ours, 'chains')))
  t.ok(existsSync(join(ours, 'sandbox.pid')))

  const foreign = await place(t)
  await writeFile(join(foreign, 'thesis.txt'), 'ten years of work')
  await t.rejects(openDataDir({ directory: foreign, reset: true }), { message: /is not the directory of a sandbox/ })
  t.equal(await readFile(join(foreign, 'thesis.txt'), 'utf8'), 'ten years of work')
})
