/** A transaction count that the log and the processed blocks do not explain: who says it, and for how long, decides. */
import t from 'tap'
import type { ShownCount } from '../../src/chain/transaction-counts.ts'
import { DOUBT_MINUTES } from '../../src/transactions/held-cause.ts'
import { createJudgeCounts, type Look } from '../../src/transactions/judge-counts.ts'
import { matchExactly } from '../support/match-exactly.ts'

const LANE = { chainId: 1, address: `0x${'ab'.repeat(20)}` }
const CURSOR = { number: 100, hash: `0x${'cd'.repeat(32)}` }
const MINUTE = 60_000

/** A lane whose log has the nonces below `next`, all of them processed. */
function stage(next: number, needed = 2) {
  const facts = { now: 0, next, outside: 0, taken: 0 }
  const judge = createJudgeCounts({
    now: () => facts.now,
    assigned: async (_lane, from, to) => Math.max(0, Math.min(to, facts.next) - from),
  })
  let look: Look | null = null
  const hosts = ['a.test', 'b.test', 'c.test']
  return {
    facts,
    restart: () => {
      look = null
    },
    /** @param agreed at the newest processed block @param counts what each node says; `null` for a silent one */
    async see(agreed: number | null, ...counts: readonly (number | null)[]) {
      const said = counts.flatMap((count, i): ShownCount[] => (count === null ? [] : [{ host: hosts[i] ?? '', count }]))
      const known = { next: facts.next, outside: facts.outside, taken: facts.taken, cursor: CURSOR, epoch: 'one' }
      const quorum = { needed, nodes: counts.length }
      const seen = await judge(LANE, known, look, { agreed, latest: said, shown: said, quorum })
      if ('kind' in seen) return seen
      look = seen.look
      return seen.held ?? seen.from
    },
  }
}

t.test(
  'one node of three that says 200 more holds a lane for ten minutes, and is named; then it goes on',
  async (t) => {
    const { facts, see } = stage(5)
    t.equal(await see(5, 5, 5, 5), 5)
    const held = { kind: 'count_doubted', hosts: ['a.test'], count: 205, explained: 5 }
    matchExactly(t, await see(5, 205, 5, 5), held)
    facts.now = DOUBT_MINUTES * MINUTE
    matchExactly(t, await see(5, 205, 5, 5), held)
    facts.now += MINUTE
    t.equal(await see(5, 205, 5, 5), 5)
    t.equal(await see(5, 5, 5, 5), 5)
    t.equal(await see(5, 300, 5, 5), 5, 'another number does not begin it again')
  },
)

t.test(
  'the same lie at the first look after a start, and for a wallet that has sent nothing, only delays',
  async (t) => {
    for (const next of [5, 0]) {
      const { facts, see } = stage(next)
      matchExactly(t, await see(next, 2 ** 39, next, next), { kind: 'count_doubted', hosts: ['a.test'] })
      facts.now = DOUBT_MINUTES * MINUTE + 1
      t.equal(await see(next, 2 ** 39, next, next), next)
    }
  },
)

t.test('a node that hides transactions at the first look is outvoted, and alone of two it delays', async (t) => {
  const three = stage(3)
  t.match(await three.see(3, 0, 5, 5), { kind: 'not_walked', until: 5, next: 3 })
  const two = stage(3)
  t.match(await two.see(3, 0, 5), { kind: 'not_walked', until: 5 })
  two.facts.now = 60 * MINUTE
  t.match(await two.see(3, 0, 5), { kind: 'not_walked', until: 5 })
  two.facts.next = 5
  t.equal(await two.see(5, 0, 5), 5)
})

t.test('one node of two that is silent stops no lane that was compared, and gives no first nonce', async (t) => {
  const { facts, see, restart } = stage(5)
  t.equal(await see(5, 5, 5), 5)
  t.equal(await see(null, 5, null), 5, 'from the log alone')
  facts.next = 6
  t.equal(await see(null, 6, null), 6)
  matchExactly(t, await see(null, 206, null), { kind: 'count_doubted', hosts: ['a.test'] })
  facts.now = DOUBT_MINUTES * MINUTE + 1
  t.equal(await see(null, 206, null), 6)
  restart()
  t.strictSame(await see(null, 6, null), { kind: 'too_few_nodes', answered: 1, nodes: 2, needed: 2 })
  t.match(await stage(0).see(null, 0, null), { kind: 'too_few_nodes' })
})

t.test('a jump that even a quorum says is not acted on at once: a single node may be wrong for a moment', async (t) => {
  const { facts, see } = stage(5, 1)
  t.equal(await see(5, 5), 5)
  matchExactly(t, await see(205, 205), { kind: 'count_doubted', hosts: ['a.test'], count: 205, explained: 5 })
  t.equal(await see(5, 5), 5)
  facts.now = 60 * MINUTE
  t.match(await see(205, 205), { kind: 'count_doubted' }, 'the time begins again')
  facts.now += DOUBT_MINUTES * MINUTE + 1
  t.equal(await see(205, 205), 205)
  t.equal(await see(205, 205), 205)
})

t.test('what processed blocks show is explained: transactions and authorizations of other programs', async (t) => {
  for (const who of ['outside', 'taken'] as const) {
    const { facts, see } = stage(5)
    facts[who] = 8
    t.equal(await see(8, 8, 8, 8), 8)
  }
})

t.test('a wallet that was used before it came here begins with what a quorum says', async (t) => {
  t.equal(await stage(0).see(42, 42, 42, 42), 42)
  t.equal(await stage(0, 1).see(42, 42), 42)
})
