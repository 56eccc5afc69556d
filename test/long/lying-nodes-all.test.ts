/**
 * Every lie of a minority of nodes: one at a time and all together, for seconds and for as long as anything is open, with
 * swaps and mints, reorgs, and kills of every process. See `faults/lying-nodes`.
 */
import t from 'tap'
import { oneByOne, together, tryLies, unaltered } from '../support/lying-trials.ts'
import { PROCESS_KINDS } from '../support/victims.ts'

const SECONDS = { forMs: 1_500 }
/** The follower has passed some of the blocks that leave the chain. */
const REORG = { reorg: 2 }

t.test('each lie of one of three nodes', async (t) => {
  const { asked } = await tryLies(t, { nodes: 3, liars: 1, isFull: true }, oneByOne())
  t.strictSame(unaltered(asked), [], 'every method that the service calls is lied about')
})

t.test('each lie that fits together, for seconds and with a reorg', async (t) => {
  const planned = oneByOne(undefined, { ...SECONDS, ...REORG }).filter(({ name }) => name.startsWith('several/'))
  await tryLies(t, { nodes: 3, liars: 1 }, planned)
})

t.test('all lies together, while every process is killed', async (t) => {
  const kills = PROCESS_KINDS.filter((kind) => kind !== 'api').flatMap((kind) => together({ ...REORG, kill: kind }))
  await tryLies(t, { nodes: 3, liars: 1, isFull: true }, [
    ...together(),
    ...kills,
    ...together({ ...SECONDS, ...REORG }),
  ])
})

for (const [nodes, liars] of [
  [1, 0],
  [4, 1],
  [5, 2],
] as const)
  t.test(`all lies together of ${liars} of ${nodes} nodes`, async (t) => {
    await tryLies(t, { nodes, liars }, together(REORG))
  })

t.test('one of two nodes that lies for seconds delays until it is honest again', async (t) => {
  await tryLies(t, { nodes: 2, liars: 1 }, together(SECONDS))
})

t.end()
