/** A directory of the settings that cannot be used ends a start with one line, within five seconds. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { requireUsableDirectory } from '../../src/keys/usable-directory.ts'
import { mountSmallDisk } from '../support/full-disk.ts'
import { temporaryDirectory } from '../support/mpc-processes.ts'

const START = fileURLToPath(new URL('../../dist/bin/sandbox.js', import.meta.url))
const HANGING = fileURLToPath(new URL('../support/hanging-directory.ts', import.meta.url))

async function startSandbox(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [START], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, out, err }
}

/** Places that cannot be used, and what is told. */
async function badPlaces(t: Test): Promise<readonly (readonly [directory: string, why: RegExp])[]> {
  const directory = await temporaryDirectory(t)
  await writeFile(join(directory, 'file'), '')
  await symlink('loop', join(directory, 'loop'))
  return [
    [join(directory, 'file'), /it is a file/],
    [join(directory, 'file', 'below'), /a part of it is a file/],
    [join(directory, 'loop'), /it is a loop of links|it is a file/],
    [join(directory, 'x'.repeat(300)), /the name is too long/],
    ['/sys/bursar', /this user may not write there|it cannot be created there/],
    ['/sys', /this user may not write there|it cannot be created there/],
    ['/proc', /it cannot be created there|this user may not write there/],
  ]
}

t.test('the sandbox names a bad DATA_DIR in one line', async (t) => {
  for (const [directory, why] of await badPlaces(t)) {
    const { code, out, err } = await startSandbox({ DATA_DIR: directory })
    t.equal(code, 1)
    t.equal(out, '')
    t.match(err, /^DATA_DIR must be a directory that can be written to, not [^\n]*\n$/)
    t.match(err, why)
  }
})

t.test('a directory that does not answer is given up, and the message says after how long', async (t) => {
  const never = () => new Promise<void>(() => undefined)
  await t.rejects(requireUsableDirectory('/mnt/gone', 'DATA_DIR', { writes: true, patienceMs: 20, attempt: never }), {
    code: 'invalid_setting',
    message: 'DATA_DIR must be a directory that answers: /mnt/gone did not within 0.02 s.',
  })
})

t.test('a process whose system calls hang ends all the same', async (t) => {
  const fifo = join(await temporaryDirectory(t), 'fifo')
  execFileSync('mkfifo', [fifo])
  const child = spawn(process.execPath, ['--import', 'tsx', HANGING, fifo], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [err, [, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  t.match(err, /^DATA_DIR must be a directory that answers: [^\n]*\n$/)
  t.equal(signal, 'SIGKILL')
})

t.test('a full disk is told as such, and a directory that can be used is left as it was', async (t) => {
  const directory = await temporaryDirectory(t)
  await requireUsableDirectory(join(directory, 'new', 'place'), 'DATA_DIR', { writes: true })
  t.strictSame(await readdir(join(directory, 'new', 'place')), [])
  const disk = await mountSmallDisk(t, 1)
  if (disk === undefined) {
    t.pass('a full disk', { skip: 'NOT TESTED: mounting a small file system takes root' })
    return
  }
  await disk.fill()
  await mkdir(join(directory, 'readable'))
  await requireUsableDirectory(join(directory, 'readable'), 'KEYSTORE_DIR', { writes: false })
})
