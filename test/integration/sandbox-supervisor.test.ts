/** The supervisor, with real processes: dead ones are restarted, stopped ones end in order and are not restarted. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isAlive, startChild, stopChild } from '../../src/sandbox/processes.ts'
import { createSupervisor, type Service } from '../../src/sandbox/supervisor.ts'
import { eventually } from '../support/sandbox-eventually.ts'

async function scene(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-supervisor-'))
  const said: string[] = []
  const pids: number[] = []
  const supervisor = createSupervisor({
    onStarted: (name, pid) => {
      said.push(`${name} started`)
      pids.push(pid)
    },
    onDied: (name, { code, signal }) => said.push(`${name} died of ${signal ?? code}`),
    onStartFailed: (name, error) => said.push(`${name} failed: ${(error as Error).message}`),
  })
  t.after(async () => {
    await supervisor.stop()
    await rm(directory, { recursive: true, force: true })
  })

  /** A program that runs until it is stopped, and then takes a while. */
  async function run(name: string) {
    const script =
      "process.once('SIGTERM', () => setTimeout(() => process.exit(0), 50)); console.log('up'); setInterval(() => 0, 1000)"
    const logFile = join(directory, `${name}-${randomUUID()}.log`)
    const child = await startChild({ command: process.execPath, args: ['-e', script], logFile, onParentDeath: 'TERM' })
    t.after(() => child.kill('SIGKILL'))
    await eventually(async () => (await readFile(logFile, 'utf8')) !== '')
    return child
  }

  function service(name: string, rank: number): Service {
    return {
      name,
      rank,
      start: async () => {
        const child = await run(name)
        const stop = async () => {
          said.push(`${name} told to stop`)
          await stopChild(child, 'SIGTERM', 60_000)
          said.push(`${name} stopped`)
        }
        return { pid: child.pid, exited: child.exited, stop }
      },
    }
  }

  return { supervisor, said, pids, run, service }
}

t.test('a process that dies is started again, under a new pid that the list of processes has', async (t) => {
  const { supervisor, said, service } = await scene(t)
  await supervisor.start(service('worker', 1))
  const [first] = supervisor.processes()
  process.kill(first?.pid ?? 0, 'SIGKILL')
  const second = await eventually(() => supervisor.processes().find(({ pid }) => pid !== first?.pid))
  t.equal(second.name, 'worker')
  t.ok(isAlive(second.pid))
  t.strictSame(said, ['worker started', 'worker died of SIGKILL', 'worker started'])
})

t.test('a failed start is reported and tried once more', async (t) => {
  const { supervisor, said, run } = await scene(t)
  let starts = 0
  await supervisor.start({
    name: 'worker',
    rank: 1,
    async start() {
      starts += 1
      if (starts === 2) throw new Error('the port is taken')
      const child = await run('worker')
      return { pid: child.pid, exited: child.exited, stop: () => stopChild(child, 'SIGTERM', 60_000) }
    },
  })
  process.kill(supervisor.processes()[0]?.pid ?? 0, 'SIGKILL')
  await eventually(() => said.length === 4)
  const story = ['worker started', 'worker died of SIGKILL', 'worker failed: the port is taken', 'worker started']
  t.strictSame(said, story)
})

t.test('a failed first start is thrown to the caller, and leaves no process behind', async (t) => {
  const { supervisor, said } = await scene(t)
  const start = () => Promise.reject(new Error('no such program'))
  await t.rejects(supervisor.start({ name: 'worker', rank: 1, start }), { message: 'no such program' })
  await supervisor.stop()
  t.strictSame(said, [])
})

t.test('the processes of a rank are stopped together, after every rank above it', async (t) => {
  const { supervisor, said, pids, service } = await scene(t)
  await supervisor.start(service('database', 0))
  await Promise.all([supervisor.start(service('signer', 2)), supervisor.start(service('submitter', 2))])
  said.length = 0
  await supervisor.stop()
  t.strictSame(said.slice(0, 2).sort(), ['signer told to stop', 'submitter told to stop'])
  t.strictSame(said.slice(2, 4).sort(), ['signer stopped', 'submitter stopped'])
  t.strictSame(said.slice(4), ['database told to stop', 'database stopped'])
  t.notOk(pids.some(isAlive))
  t.strictSame(supervisor.processes(), [])
})

t.test('a process that is being started during the stop does not outlive it', async (t) => {
  const { supervisor, run } = await scene(t)
  const started: number[] = []
  let told = false
  const slow: Service = {
    name: 'worker',
    rank: 1,
    async start() {
      const child = await run('worker')
      started.push(child.pid)
      // The second start is still in progress when the supervisor is stopped.
      if (started.length === 2) await eventually(() => told)
      return { pid: child.pid, exited: child.exited, stop: () => stopChild(child, 'SIGTERM', 60_000) }
    },
  }
  await supervisor.start(slow)
  process.kill(started[0] ?? 0, 'SIGKILL')
  await eventually(() => started.length === 2)
  const stopped = supervisor.stop()
  told = true
  await stopped
  t.notOk(isAlive(started[1] ?? 0))
})

t.test('a program with a channel learns that its parent was killed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-supervisor-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  // The parent may be gone before this program listens: it checks as well.
  const inner = `const end = () => process.exit(0); process.once('disconnect', end); if (!process.connected) end(); setInterval(() => 0, 1000)`
  const outer = `
    import { startChild } from ${JSON.stringify(new URL('../../src/sandbox/processes.ts', import.meta.url).href)}
    import { writeFileSync } from 'node:fs'
    // Without setpriv in the PATH only the channel is left, as on systems that have none.
    process.env.PATH = '/nowhere'
    const child = await startChild({ command: process.execPath, args: ['-e', ${JSON.stringify(inner)}],
      logFile: '${directory}/inner.log', onParentDeath: 'TERM', channel: true })
    writeFileSync('${directory}/pid', String(child.pid))
    process.kill(process.pid, 'SIGKILL')`
  const parent = await startChild({
    command: process.execPath,
    args: ['--import', 'tsx', '--input-type=module', '-e', outer],
    logFile: join(directory, 'outer.log'),
    onParentDeath: 'TERM',
  })
  t.strictSame(await parent.exited, { code: null, signal: 'SIGKILL' })
  const pid = Number(await readFile(join(directory, 'pid'), 'utf8'))
  t.ok(pid > 0)
  await eventually(() => !isAlive(pid))
})
