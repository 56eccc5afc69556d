/** The fork that a chain runs is read from its nodes, told when it changes, and never guessed. */
import t from 'tap'
import { createForkWatch, judgeFork } from '../../src/chain/fork-watch.ts'
import { createForkNode, HEADERS } from '../support/fork-node.ts'
import { matchExactly } from '../support/match-exactly.ts'

const CHAIN = { network: 'ethereum', environment: 'testnet' }

function watch(node: ReturnType<typeof createForkNode>) {
  const told: string[] = []
  const clock = { now: 0 }
  const say = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void told.push(`${level} ${String(fields.before)} > ${String(fields.fork)}: ${message}`)
  const log = { info: say('info'), warn: say('warn') }
  return { told, clock, forks: createForkWatch({ client: node, chain: CHAIN, now: () => clock.now, log }) }
}

t.test('a fork is known by the fields of its headers and the price of a transaction', (t) => {
  const config = { current: { precompiles: { P256VERIFY: '0x100' } }, next: { activationTime: 1_780_000_000 } }
  t.match(judgeFork(HEADERS.osaka, null, 21_000n), { fork: 'osaka', source: 'header', nextAt: null })
  t.match(judgeFork(HEADERS.osaka, { current: { precompiles: {} } }, 21_000n), { fork: 'prague', source: 'eth_config' })
  t.match(judgeFork(HEADERS.osaka, config, 21_000n), { fork: 'osaka', nextAt: '2026-05-28T20:26:40.000Z' })
  t.match(judgeFork(HEADERS.amsterdam, config, 15_000n), { fork: 'amsterdam', problem: null })
  t.match(judgeFork(HEADERS.before_shanghai, null, null), { fork: 'before_shanghai', problem: null })
  t.match(judgeFork(HEADERS.osaka, null, 21_001n), { fork: 'osaka' }, 'a node that searches for the limit')
  t.end()
})

t.test('what fits no known fork is unknown, with its reason', (t) => {
  t.match(judgeFork(HEADERS.later, null, 15_000n), { fork: 'unknown', problem: /executionWitnessHash/ })
  t.match(judgeFork(HEADERS.osaka, null, 15_000n), { fork: 'unknown', problem: /looks like osaka/ })
  t.match(judgeFork(HEADERS.amsterdam, null, 21_000n), { fork: 'unknown', problem: /looks like amsterdam/ })
  t.match(judgeFork(HEADERS.amsterdam, null, 30_000n), { fork: 'unknown', problem: /30000 gas/ })
  t.end()
})

t.test('a change is logged once, in the background, and an unknown fork is a warning', async (t) => {
  const node = createForkNode('osaka')
  const { told, clock, forks } = watch(node)
  t.equal(await forks.fork(), 'osaka')
  t.equal((await forks.rules()).newAccount, 0n)
  t.equal(node.asked.get('eth_getBlockByNumber'), 1, 'one read serves all')
  node.fork = 'amsterdam'
  clock.now = 15_000
  t.equal(await forks.fork(), 'osaka', 'nobody waits for the next read')
  await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(await forks.fork(), 'amsterdam')
  t.equal((await forks.rules()).newAccount, 183_600n)
  node.fork = 'later'
  clock.now = 30_000
  await forks.fork()
  await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(await forks.fork(), 'unknown')
  matchExactly(t, told, [
    /^info null > osaka: the fork of a chain was read$/,
    /^info osaka > amsterdam: the fork of a chain has changed$/,
    /^warn amsterdam > unknown: the fork of a chain is unknown/,
  ])
  t.equal(told.length, 3)
})

t.test('after a quiet time nobody is told the fork of before it, unless no node answers', async (t) => {
  const node = createForkNode('osaka')
  const { clock, forks } = watch(node)
  t.equal(await forks.fork(), 'osaka')
  node.fork = 'amsterdam'
  clock.now = 3_600_000
  t.equal(await forks.fork(), 'amsterdam', 'the first request after an hour waits for the node')
  node.silent = true
  clock.now = 7_200_000
  t.equal(await forks.fork(), 'amsterdam', 'what was known counts while no node answers')
})

t.test('a replica that has not been updated takes back no fork, but a chain that lasts without it does', async (t) => {
  const node = createForkNode('amsterdam')
  const { clock, forks } = watch(node)
  await forks.fork()
  node.fork = 'osaka'
  clock.now = 60_000
  t.equal(await forks.fork(), 'amsterdam')
  clock.now = 660_000
  t.equal(await forks.fork(), 'osaka')
})

t.test('shortly before a fork gas is held for it, as the block of the transaction may be after it', (t) => {
  const header = { ...HEADERS.osaka, timestamp: '0x64' }
  const near = (activationTime: number) => judgeFork(header, { next: { activationTime } }, 21_000n).isNextNear
  t.strictSame([near(100 + 3_600), near(100 + 60), near(90)], [false, true, true])
  t.notOk(judgeFork(header, null, 21_000n).isNextNear)
  t.end()
})

t.test('a node that never answers makes the first caller wait for a second, and the rules unknown', async (t) => {
  const node = createForkNode()
  node.silent = true
  const { forks } = watch(node)
  const started = performance.now()
  t.match(await forks.status(), { fork: 'unknown', source: 'nothing' })
  t.ok(performance.now() - started < 9_000, 'less than the deadline of a node')
})
