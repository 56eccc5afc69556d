/** Two programs that choose ports at the same time: each instance of the module stands for one of them. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type * as ports from '../../src/sandbox/ports.ts'

const SOURCE = '../../src/sandbox/ports.ts'
const MANY = 100

async function program(name: string): Promise<typeof ports> {
  return (await import(`${SOURCE}?${name}`)) as typeof ports
}

t.test('two programs never get the same port, even before they listen', async (t: Test) => {
  const [first, second] = [await program('first'), await program('second')]
  const chosen = await Promise.all(Array.from({ length: MANY }, (_, at) => (at % 2 ? first : second).freePort()))
  t.equal(new Set(chosen).size, MANY)
  t.ok(Math.min(...chosen) > 10_240 && Math.max(...chosen) < 32_768, 'no port of outgoing connections')
})

t.test('a program keeps its port over restarts, unless another program may be about to use it', async (t: Test) => {
  const file = join(t.testdir({}), 'port')
  const before = await program('before')
  const port = await before.keptPort(file)
  t.equal(await before.keptPort(file), port)
  const other = await program('other')
  const moved = await other.keptPort(file)
  t.not(moved, port, 'the block of the stored port is held')
  const listening = createServer().listen(moved, '127.0.0.1')
  t.after(() => listening.close())
  await new Promise((resolve) => listening.once('listening', resolve))
  t.not(await other.keptPort(file), moved, 'a program listens on the stored port')
})

t.test('a stored port that is outside the blocks is kept while it is free', async (t: Test) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const file = join(t.testdir({}), 'port')
  await writeFile(file, `${port}\n`)
  t.equal(await (await program('outside')).keptPort(file), port)
})
