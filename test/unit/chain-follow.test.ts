/** The follower on an in-memory chain: a consumer that follows its steps ends up with the chain's state. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { BlockRef } from '../../src/chain/blocks.ts'
import { createPace, type FollowStep, nextStep } from '../../src/chain/follow.ts'
import type { RpcResult } from '../../src/chain/json-rpc.ts'
import { createFakeChain, type FakeChain } from '../support/fake-chain.ts'
import { oneNode } from '../support/one-node.ts'

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
t.comment(`SEED=${SEED}`)

/** A consumer: keeps the last hashes, undoes and continues as instructed. */
function follow(chain: FakeChain, { window = 1_000, maxBlocks = 100 } = {}) {
  const kept = new Map<number, string>([[0, chain.hash(0)]])
  const storedHashes = (from: number, to: number) =>
    new Map([...kept].filter(([number]) => number >= from && number <= to))
  const accepted: { genesis: string | null } = { genesis: null }
  const acceptedGenesis = async () => accepted.genesis
  const [client, pace, how] = [oneNode(chain.client), createPace(), { recover: null, blockReceipts: true }]
  const following = { client, how, pace, storedHashes, acceptedGenesis, maxBlocks }
  let cursor: BlockRef = { number: 0, hash: chain.hash(0) }

  async function step(): Promise<FollowStep> {
    const done = await nextStep(following, cursor)
    if (done.type === 'advance') {
      for (const { number, hash, parentHash } of done.blocks) {
        assert.equal(number, cursor.number + 1, 'the block follows the cursor without a gap')
        assert.equal(parentHash, cursor.hash, 'the block is a child of the cursor')
        cursor = { number, hash }
        kept.set(number, hash)
        if (number - window > 0) kept.delete(number - window)
      }
    }
    if (done.type === 'reorg') {
      assert.deepEqual(done.from, cursor)
      assert.equal(done.depth, cursor.number - done.to.number)
      for (const number of kept.keys()) if (number > done.to.number) kept.delete(number)
      cursor = done.to
      kept.set(cursor.number, cursor.hash)
    }
    return done
  }

  async function catchUp(): Promise<FollowStep[]> {
    const steps: FollowStep[] = []
    while (steps.length < 500) {
      steps.push(await step())
      if (steps.at(-1)?.type === 'idle' || steps.at(-1)?.type === 'behind') return steps
    }
    throw new Error('the follower does not come to rest')
  }
  return { step, catchUp, accepted, cursor: () => cursor, kept }
}

const types = (steps: readonly FollowStep[]): string => steps.map(({ type }) => type).join(' ')

t.test('blocks are read without gaps, with their transactions, receipts and logs', async (t) => {
  const chain = createFakeChain()
  chain.grow(3, 2)
  const follower = follow(chain)
  const step = await follower.step()
  assert.equal(step.type, 'advance')
  t.strictSame(
    step.blocks.map(({ number }) => number),
    [1, 2, 3],
  )
  t.hasStrict(step.blocks[0], { timestamp: 1001, baseFeePerGas: 7n })
  const second = step.blocks[0]?.transactions[1]
  t.hasStrict(second, {
    nonce: 1,
    value: 1n,
    status: 'success',
    gasUsed: 21_000n,
    effectiveGasPrice: 7n,
  })
  t.equal(second?.logs.length, 1)
  t.strictSame(second?.logs[0]?.topics, [second?.hash])
  t.equal(second?.logs[0]?.logIndex, 0)
  t.strictSame(step.head, { number: 3, hash: chain.hash(3) })
  t.equal(types(await follower.catchUp()), 'idle')
})

t.test('an abandoned branch is undone down to the last common block', async (t) => {
  for (const depth of [1, 2, 8, 9, 40, 200]) {
    const chain = createFakeChain()
    chain.grow(300)
    const follower = follow(chain)
    await follower.catchUp()
    chain.cut(depth)
    chain.grow(depth)
    const steps = await follower.catchUp()
    t.match(types(steps), /^reorg (advance )+idle$/)
    t.hasStrict(steps[0], { type: 'reorg', depth, beyondWindow: false, to: { number: 300 - depth } })
    t.strictSame(follower.cursor(), { number: 300, hash: chain.hash(300) })
  }
})

t.test('a longer or shorter branch is a reorg; a shorter copy of the same chain is only behind', async (t) => {
  const chain = createFakeChain()
  chain.grow(20)
  const follower = follow(chain)
  await follower.catchUp()
  chain.cut(3)
  t.equal(types(await follower.catchUp()), 'behind')
  chain.grow(1)
  const shorter = await follower.catchUp()
  t.hasStrict(shorter[0], { type: 'reorg', depth: 3, to: { number: 17 } })
  chain.cut(2)
  chain.grow(9)
  const longer = await follower.catchUp()
  t.hasStrict(longer[0], { type: 'reorg', depth: 2, to: { number: 16 } })
  t.strictSame(follower.cursor(), { number: 25, hash: chain.hash(25) })
})

t.test('a reorg below all kept blocks is reported as such, and read again from the lowest kept block', async (t) => {
  const chain = createFakeChain()
  chain.grow(50)
  const follower = follow(chain, { window: 10 })
  await follower.catchUp()
  chain.cut(30)
  chain.grow(40)
  const [step] = await follower.catchUp()
  t.hasStrict(step, { type: 'reorg', beyondWindow: true, depth: 10, to: { number: 40, hash: chain.hash(40) } })
  t.strictSame(follower.cursor(), { number: 60, hash: chain.hash(60) })
})

t.test('another chain with the same id is not followed, even while it is below all kept blocks', async (t) => {
  for (const grown of [2, 45, 70]) {
    const chain = createFakeChain()
    chain.grow(50)
    const follower = follow(chain, { window: 10 })
    await follower.catchUp()
    chain.genesis()
    chain.grow(grown)
    const before = follower.cursor()
    const step = await follower.step()
    t.match(step, { type: 'refused', reason: /another chain with the same id: its block 0/ })
    t.strictSame(follower.cursor(), before)

    follower.accepted.genesis = `0x${'ee'.repeat(32)}`
    t.hasStrict(await follower.step(), { type: 'refused' }, 'an operator has accepted another one')
    follower.accepted.genesis = chain.hash(0)
    const [followed] = await follower.catchUp()
    t.hasStrict(followed, { type: 'reorg', depth: 50, to: { number: 0, hash: chain.hash(0) }, genesis: chain.hash(0) })
    t.strictSame(follower.cursor(), { number: grown, hash: chain.hash(grown) })
  }
})

t.test('a node with another block 0 below the same blocks has not started again', async (t) => {
  // Below the kept hashes, and the whole chain: the chains then have block 0 in common.
  for (const { window, cut, to } of [
    { window: 10, cut: 15, to: 40 },
    { window: 1_000, cut: 50, to: 0 },
  ]) {
    const chain = createFakeChain()
    chain.grow(50)
    const follower = follow(chain, { window })
    await follower.catchUp()
    chain.cut(cut)
    chain.grow(60)
    // Like an anvil restarted from its state.
    chain.answer = ({ method, params: [number] }) =>
      method === 'eth_getBlockByNumber' && number === '0x0'
        ? {
            ok: true,
            value: { number, hash: `0x${'ee'.repeat(32)}`, parentHash: '0x0', timestamp: '0x1', transactions: [] },
          }
        : undefined
    const [step] = await follower.catchUp()
    t.hasStrict(step, { type: 'reorg', beyondWindow: true, to: { number: to, hash: chain.hash(to) } })
    t.strictSame(follower.cursor(), { number: chain.head(), hash: chain.hash(chain.head()) })
  }
})

t.test('a node far behind, possibly on the same chain, is waited for', async (t) => {
  const chain = createFakeChain()
  chain.grow(50)
  const follower = follow(chain, { window: 10 })
  await follower.catchUp()
  chain.cut(45)
  t.equal(types(await follower.catchUp()), 'behind')
  t.equal(follower.cursor().number, 50)
})

t.test('a chain that changes while it is read gives blocks of one branch only', async (t) => {
  const chain = createFakeChain()
  chain.grow(20)
  const follower = follow(chain)
  let turned = false
  chain.onRequest = (request) => {
    if (turned || request.method !== 'eth_getBlockReceipts' || Number(request.params[0]) !== 10) return
    turned = true
    chain.cut(15)
    chain.grow(15)
  }
  const step = await follower.step()
  assert.equal(step.type, 'advance')
  t.equal(step.blocks.at(-1)?.number, 9, 'the step ends before block 10, whose receipts are missing')
  chain.onRequest = () => undefined
  t.match(types(await follower.catchUp()), /^reorg advance idle$/)
  t.strictSame(follower.cursor(), { number: 20, hash: chain.hash(20) })
})

t.test('receipts that a node leaves out of a block are asked for one by one', async (t) => {
  const refused: RpcResult = {
    ok: false,
    error: { kind: 'answer', code: -32000, message: 'receipts length mismatch: 1 vs 0' },
  }
  const missing: RpcResult = { ok: false, error: { kind: 'answer', code: -32601, message: 'method not found' } }
  for (const answer of [{ ok: true, value: [] } as const, { ok: true, value: null } as const, refused, missing]) {
    const chain = createFakeChain()
    chain.grow(130, 3)
    chain.answer = ({ method }) => (method === 'eth_getBlockReceipts' ? answer : undefined)
    const follower = follow(chain)
    await follower.catchUp()
    t.strictSame(follower.cursor(), { number: 130, hash: chain.hash(130) })
    const asked = chain.requests.filter(({ method }) => method === 'eth_getBlockReceipts').length
    t.equal(asked, answer === missing ? 100 : 130, 'a method that the node lacks is called in the first step only')
  }
})

t.test('a node that does not answer, or whose receipts never fit, is an error', async (t) => {
  const chain = createFakeChain()
  chain.grow(3)
  const follower = follow(chain)
  chain.answer = ({ method }) =>
    method === 'eth_getBlockReceipts'
      ? { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' } }
      : undefined
  await t.rejects(follower.step(), { code: 'rpc_unavailable' })
  chain.answer = ({ method }) =>
    method.endsWith('Receipt') || method.endsWith('Receipts') ? { ok: true, value: null } : undefined
  await t.rejects(follower.step(), { code: 'block_inconsistent' })
  t.equal(follower.cursor().number, 0)
})

t.test('a step has few blocks when they are full, and many when they are not', async (t) => {
  const chain = createFakeChain()
  chain.grow(300, 0)
  chain.grow(20, 2_000)
  chain.grow(2, 9_000)
  chain.grow(200, 0)
  const steps = await follow(chain).catchUp()
  const advances = steps.flatMap((step) => (step.type === 'advance' ? [step.blocks] : []))
  t.equal(Math.max(...advances.map((blocks) => blocks.length)), 100)
  for (const blocks of advances) {
    const transactions = blocks.reduce((sum, block) => sum + block.transactions.length, 0)
    t.ok(transactions <= 5_000 || blocks.length === 1, `${blocks.length} blocks have ${transactions} transactions`)
  }
  t.equal(advances.flat().length, 522)
  t.equal(advances.length, 17, 'the follower takes 17 steps')
})

t.test('whatever a chain does, following the steps ends with that chain', async (t) => {
  const action = fc.oneof(
    fc.record({ do: fc.constant('grow' as const), by: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ do: fc.constant('cut' as const), by: fc.integer({ min: 1, max: 15 }) }),
    fc.record({ do: fc.constant('step' as const), by: fc.constant(1) }),
    fc.record({ do: fc.constant('turn' as const), by: fc.integer({ min: 1, max: 30 }) }),
  )
  const property = fc.asyncProperty(
    fc.array(action, { maxLength: 40 }),
    fc.integer({ min: 1, max: 9 }),
    async (actions, maxBlocks) => {
      const chain = createFakeChain()
      const follower = follow(chain, { maxBlocks })
      for (const { do: what, by } of actions) {
        if (what === 'grow') chain.grow(by)
        if (what === 'cut') chain.cut(by)
        if (what === 'step') await follower.step().catch(refuseOnlyTorn)
        if (what === 'turn') await turnDuringStep(chain, follower, by)
      }
      // A truncated chain matches ours until other blocks grow on it, past our cursor.
      chain.grow(Math.max(1, follower.cursor().number + 1 - chain.head()))
      await follower.catchUp()
      assert.deepEqual(follower.cursor(), { number: chain.head(), hash: chain.hash(chain.head()) })
      for (const [number, hash] of follower.kept) assert.equal(hash, chain.hash(number))
    },
  )
  await fc.assert(property, { seed: SEED, numRuns: 300 })
  t.pass(`SEED=${SEED}`)
})

/** The chain changes during a step, after `after` requests. */
async function turnDuringStep(chain: FakeChain, follower: ReturnType<typeof follow>, after: number): Promise<void> {
  const from = chain.requests.length
  chain.onRequest = (_request, count) => {
    if (count !== from + after) return
    chain.cut(2)
    chain.grow(3)
  }
  await follower.step().catch(refuseOnlyTorn)
  chain.onRequest = () => undefined
}

function refuseOnlyTorn(error: unknown): void {
  assert.equal((error as { code?: string }).code, 'block_inconsistent')
}
