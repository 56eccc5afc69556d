/** Finality of a followed chain: what is final, which reorgs are refused, and what an operator's word changes. */
import t from 'tap'
import type { BlockRef } from '../../src/chain/blocks.ts'
import type { FollowStep } from '../../src/chain/follow.ts'
import { Unavailable } from '../../src/core/errors.ts'
import type { BlockPlace, ChainEvent } from '../../src/follower/events.ts'
import { createFinality, createReadAccepted, unusedOf } from '../../src/follower/finality.ts'

const CHAIN = { network: 'ethereum', environment: 'mainnet' } as const
const SETTINGS = { chainId: 1, finalizes: true }
const block = (number: number, branch = 'a'): BlockRef => ({ number, hash: `0x${branch}${number}` })
const reorg = (to: number, genesis?: string): FollowStep => ({
  type: 'reorg',
  from: block(100),
  to: block(to),
  depth: 100 - to,
  beyondWindow: genesis !== undefined,
  ...(genesis === undefined ? {} : { genesis }),
  head: block(101, 'b'),
})
const detected = (ancestor: number): ChainEvent => ({
  type: 'ReorgDetected',
  data: { from: block(100), ancestor: block(ancestor), depth: 1, beyondWindow: false, detectedAt: '' },
})
const accepted = (final: BlockPlace | null, genesis: string | null = null): ChainEvent => ({
  type: 'ReorgAccepted',
  data: { final, genesis, reason: 'it was looked at', acceptedAt: '' },
})

/** Follows branch `a`. `row`: the final block that the database has. */
function stage({
  row = null,
  named = null,
  events = [],
  finalizes = true,
}: {
  row?: BlockRef | null
  named?: BlockRef | null
  events?: ChainEvent[]
  finalizes?: boolean
} = {}) {
  const state = { row, named, asked: 0 }
  const log = {
    heads: async () => [{ version: events.length, hash: '' }],
    readStream: async () => events,
  } as unknown as Parameters<typeof createReadAccepted>[0]
  const finality = createFinality({
    client: {
      async newest() {
        state.asked += 1
        if (state.named === null) throw new Unavailable('no_quorum', 'the nodes disagree')
        return state.named
      },
    },
    walked: { final: async () => state.row, hash: async (_: number, number: number) => block(number).hash },
    accepted: createReadAccepted(log, CHAIN),
    settings: { ...SETTINGS, finalizes },
  })
  return { ...finality, state, events }
}

t.test('the final block that the nodes name counts at the cursor or below it, on the followed branch', async (t) => {
  const at = (named: BlockRef | null, row: BlockRef | null = null) => stage({ named, row }).at(block(100))
  t.strictSame(await at(block(90)), block(90))
  t.strictSame(await at(block(100)), block(100))
  t.equal(await at(block(101)), null, 'above the cursor nothing was followed')
  t.equal(await at(block(90, 'b')), null, 'on another branch')
  t.equal(await at(block(100, 'b')), null, 'another block at the height of the cursor')
  t.strictSame(await at(block(90), block(95)), block(95), 'it never goes back')
  t.strictSame(await at(null, block(95)), block(95), 'nodes that agree on none leave it')
})

t.test('after a restart it is what the database has, before any node is asked', async (t) => {
  const { judged, state } = stage({ row: block(95) })
  t.match(await judged(reorg(94)), {
    type: 'refused',
    refusal: { from: 95, final: block(95), genesis: null },
    reason: /block 95 \(0xa95\), which was followed, is final.*accept-reorg/,
  })
  t.equal(state.asked, 0)
})

t.test('nodes are asked at most every ten seconds, and never on chains that have no finality', async (t) => {
  const { at, state } = stage({ named: block(90) })
  await at(block(100))
  state.named = block(99)
  t.strictSame(await at(block(100)), block(90))
  t.equal(state.asked, 1)
  const without = stage({ named: block(90), finalizes: false })
  t.equal(await without.at(block(100)), null)
  t.equal(without.state.asked, 0)
  t.hasStrict(await without.judged(reorg(3)), { type: 'reorg' }, 'a reorg of any depth is followed')
})

t.test('a reorg down to the final block is followed, one below it is refused until it is accepted', async (t) => {
  t.hasStrict(await stage({ row: block(95) }).judged(reorg(95)), { type: 'reorg' })
  const { judged, at, events, state } = stage({ row: block(95) })
  t.hasStrict(await judged(reorg(94)), { type: 'refused' })
  events.push(accepted(block(95, 'b')))
  t.hasStrict(await judged(reorg(94)), { type: 'refused' }, 'the word is about another block')
  events.push(accepted(block(94)))
  t.hasStrict(await judged(reorg(93)), { type: 'refused' }, 'or about a lower one')
  events.push(accepted(block(95)))
  t.hasStrict(await judged(reorg(94)), { type: 'reorg' })
  state.named = block(97)
  t.equal(await at(block(94)), null, 'the commit of the reorg forgets the final block')
})

t.test('an accepted chain with another block 0 is followed, whatever was final on the old one', async (t) => {
  const { judged, at } = stage({ row: block(95) })
  t.hasStrict(await judged(reorg(0, '0xb0')), { type: 'reorg' })
  t.equal(await at(block(0, 'b')), null)
})

t.test('an accepted reorg is accepted once', async (t) => {
  t.strictSame(unusedOf([accepted(block(95))])?.final, block(95))
  t.equal(unusedOf([accepted(block(95)), detected(94)]), null)
  t.strictSame(unusedOf([accepted(block(95)), detected(99)])?.final, block(95), 'another reorg does not use it up')
  t.strictSame(unusedOf([accepted(block(95)), detected(94), accepted(block(96))])?.final, block(96))
  t.equal(unusedOf([accepted(null, '0xb0'), detected(0)]), null)
  t.equal(unusedOf([accepted(null, '0xb0'), detected(1)])?.genesis, '0xb0')
})
