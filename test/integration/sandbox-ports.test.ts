/** Programs that choose ports at the same time: each has a chooser. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createPortChooser } from '../../src/sandbox/ports.ts'

const MANY = 100

t.test('two programs never get the same port, even before they listen', async (t: Test) => {
  const [first, second] = [createPortChooser(), createPortChooser()]
  const chosen = await Promise.all(Array.from({ length: MANY }, (_, at) => (at % 2 ? first : second).freePort()))
  t.equal(new Set(chosen).size, MANY)
  t.ok(Math.min(...chosen) > 10_240 && Math.max(...chosen) < 32_768, 'each port is below the outgoing range')
})

t.test('a program keeps its port over restarts, unless another program may be about to use it', async (t: Test) => {
  const file = join(t.testdir({}), 'port')
  const before = createPortChooser()
  const port = await before.keptPort(file)
  t.equal(await before.keptPort(file), port)
  const other = createPortChooser()
  const moved = await other.keptPort(file)
  t.not(moved, port, 'the port moves while its block is held')
  const listening = createServer().listen(moved, '127.0.0.1')
  t.after(() => listening.close())
  await new Promise((resolve) => listening.once('listening', resolve))
  t.not(await other.keptPort(file), moved, 'the port moves while a program listens on it')
})

t.test('a stored port that is outside the blocks is kept while it is free', async (t: Test) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const file = join(t.testdir({}), 'port')
  await writeFile(file, `${port}\n`)
  t.equal(await createPortChooser().keptPort(file), port)
})
