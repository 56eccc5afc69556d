/** Where following begins: near the newest block, which one lying node cannot choose for good. */
import t from 'tap'
import { firstBlocks } from '../../src/follower/cursor.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { oneNode } from '../support/one-node.ts'

const NOW = '2026-11-25T12:00:00.000Z'
const SECONDS = Date.parse(NOW) / 1_000

/** A chain with a block each minute up to now, of which a quorum names an older one as the newest. */
function startAt(head: number, newest = head, finalizes = true) {
  const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
  const batch = async (requests: readonly { readonly params: readonly unknown[] }[]) =>
    requests.map(({ params: [at] }) => {
      const number = at === 'latest' ? newest : Number(at)
      const timestamp = `0x${(SECONDS - 60 * (head - number)).toString(16)}`
      const value = { number: `0x${number.toString(16)}`, hash: hash(number), parentHash: hash(number), timestamp }
      return { ok: true, value } as const
    })
  return firstBlocks(oneNode({ batch }), { confirmations: 12, finalizes }, NOW)
}

t.test('it begins below the newest block, with block 0', async (t) => {
  matchExactly(t, await startAt(10_000), [{ number: 0 }, { number: 9_988 }])
  matchExactly(t, await startAt(5), [{ number: 0 }])
})

t.test('a public chain is not followed from an old block that a node names as the newest', async (t) => {
  await t.rejects(startAt(10_000, 0), { code: 'no_quorum', message: /more than a day ago/ })
  await t.rejects(startAt(10_000, 8_000), { code: 'no_quorum' })
  matchExactly(t, await startAt(10_000, 9_900), [{}, { number: 9_888 }], 'a node that is behind')
})

t.test('a private chain may have had no block for long', async (t) => {
  matchExactly(t, await startAt(10_000, 8_000, false), [{}, { number: 7_988 }])
})
