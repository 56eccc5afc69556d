/** What a transfer holds for gas, by the fork of its chain and its recipient. */
import t from 'tap'
import { createCodeLookup } from '../../src/chain/code.ts'
import { createExistsFinally } from '../../src/chain/existence.ts'
import { createForkWatch } from '../../src/chain/fork-watch.ts'
import { createEstimateGas } from '../../src/transactions/estimate-gas.ts'
import { createPlainGas, emptyTransferGas } from '../../src/transactions/plain-gas.ts'
import { createTransferGas } from '../../src/transactions/transfer-gas.ts'
import { createForkNode, type ForkNode } from '../support/fork-node.ts'
import { oneNode } from '../support/one-node.ts'

const addressOf = (digit: string) => `0x${digit.repeat(40)}`
const [FROM, OLD, NEW, TOKEN, SAFE] = ['1', '2', '3', '4', '5'].map(addressOf) as [
  string,
  string,
  string,
  string,
  string,
]
const DELEGATED = addressOf('6')
const log = { info: () => undefined, warn: () => undefined }

function chainOf(node: ForkNode) {
  node.existing.add(OLD)
  node.code.set(SAFE, '0x6001')
  node.code.set(DELEGATED, `0xef0100${'00'.repeat(20)}`)
  const now = () => performance.now()
  const chain = { network: 'ethereum', environment: 'testnet' }
  return {
    agreed: node,
    foreign: node,
    code: createCodeLookup({ client: node, now }),
    exists: createExistsFinally(node),
    forks: createForkWatch({ client: node, chain, now, log }),
  }
}

/** Answers what was asked together, then what was asked next: each time one round trip. */
function inRounds(node: ForkNode) {
  const waiting: (() => void)[] = []
  const client: ForkNode = {
    ...node,
    async batch(requests) {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return node.batch(requests)
    },
  }
  return {
    client,
    async roundsUntil(work: Promise<unknown>): Promise<number> {
      let rounds = 0
      let hasEnded = false
      const ended = work.finally(() => {
        hasEnded = true
      })
      while (!hasEnded) {
        await new Promise((resolve) => setImmediate(resolve))
        if (waiting.length > 0) rounds += 1
        for (const answer of waiting.splice(0)) answer()
      }
      await ended
      return rounds
    },
  }
}

const native = (to: string, from = FROM) => ({ from, to, contract: null, amount: 5n })
const token = (to: string) => ({ from: FROM, to, contract: TOKEN, amount: 5n })

t.test('up to Osaka a plain transfer holds 21,000 and asks no node for an estimate', async (t) => {
  const node = createForkNode('osaka')
  const gasOf = createTransferGas(chainOf(node))
  await gasOf(native(OLD))
  const before = node.asked.get('eth_estimateGas')
  t.strictSame(await gasOf(native(NEW)), { gasLimit: 21_000n, newAccount: 0n })
  t.strictSame(await gasOf(native(SAFE)), { gasLimit: 100_000n, newAccount: 0n })
  t.equal(node.asked.get('eth_estimateGas'), before, 'the probe of the fork was the only estimate')
  t.equal(node.asked.get('eth_getBalance'), undefined)
})

t.test('since Amsterdam the creation of an account is held too, as the node estimates it', async (t) => {
  const node = createForkNode('amsterdam')
  const gasOf = createTransferGas(chainOf(node))
  t.strictSame(await gasOf(native(NEW)), { gasLimit: 207_391n, newAccount: 186_391n })
  t.strictSame(await gasOf(native(OLD)), { gasLimit: 21_000n, newAccount: 0n })
  t.strictSame(await gasOf(native(NEW, NEW)), { gasLimit: 21_000n, newAccount: 0n }, 'to itself')
  node.estimates.set(SAFE, 250_000n)
  t.strictSame(await gasOf(native(SAFE)), { gasLimit: 300_000n, newAccount: 0n }, 'with a margin for code')
})

t.test('an account that is known to exist at a final block costs no further call of a node', async (t) => {
  const node = createForkNode('amsterdam')
  const gasOf = createTransferGas(chainOf(node))
  await gasOf(native(OLD))
  const before = [...node.asked.values()].reduce((sum, count) => sum + count, 0)
  for (let n = 0; n < 100; n += 1) await gasOf(native(OLD))
  t.equal(
    [...node.asked.values()].reduce((sum, count) => sum + count, 0),
    before,
  )
})

t.test('each transfer to the same new recipient is judged alone, and asked about together', async (t) => {
  const node = createForkNode('amsterdam')
  const gasOf = createTransferGas(chainOf(node))
  const held = await Promise.all([native(NEW), native(NEW), native(OLD)].map(gasOf))
  t.strictSame(
    held.map(({ gasLimit }) => gasLimit),
    [207_391n, 207_391n, 21_000n],
  )
  t.equal(node.asked.get('eth_getBalance'), 2, 'one look at each address')
})

t.test(
  'a hundred new recipients of a batch are asked about in a few exchanges, and an absurd estimate counts for nothing',
  async (t) => {
    const node = createForkNode('amsterdam')
    const gasOf = createTransferGas(chainOf(node))
    await gasOf(native(OLD))
    const before = node.exchanges
    const each = Array.from({ length: 100 }, (_, i) => `0x${(i + 4096).toString(16).padStart(40, '0')}`)
    for (const to of each.slice(0, 1)) node.estimates.set(to, 1n << 40n)
    const held = await Promise.all(each.map((to) => gasOf(native(to))))
    t.ok(node.exchanges - before <= 3, `${node.exchanges - before} exchanges`)
    t.strictSame([held[0]?.gasLimit, held[99]?.gasLimit], [204_600n, 207_391n])
  },
)

t.test('a new recipient costs one round trip to the node more than a recipient did before', async (t) => {
  const { client, roundsUntil } = inRounds(createForkNode('amsterdam'))
  const chain = chainOf(client)
  await roundsUntil(chain.forks.fork())
  const known = await roundsUntil(createTransferGas(chain)(native(OLD)))
  const held = createTransferGas(chain)(native(NEW))
  t.equal(await roundsUntil(held), known + 1)
  t.match(await held, { gasLimit: 207_391n })
})

t.test('an account that exists in the newest block alone counts as new: a reorg may remove it', async (t) => {
  const node = createForkNode('amsterdam')
  node.estimates.set(NEW, 21_000n)
  t.strictSame(await createTransferGas(chainOf(node))(native(NEW)), { gasLimit: 204_600n, newAccount: 183_600n })
})

t.test('a silent node makes a transfer hold the dearest case within a second or two, and never fail', async (t) => {
  const node = createForkNode('amsterdam')
  const gasOf = createTransferGas(chainOf(node))
  await gasOf(native(OLD))
  node.silent = true
  const started = performance.now()
  t.strictSame(await gasOf(native(NEW)), { gasLimit: 204_600n, newAccount: 183_600n })
  const { gasLimit } = await gasOf(token(NEW))
  t.ok(gasLimit >= 200_000n)
  t.ok(performance.now() - started < 9_000, 'less than the deadline of a node')
})

t.test('under rules that nobody knows, the estimate of the node and a quarter is held', async (t) => {
  const node = createForkNode('later')
  const gasOf = createTransferGas(chainOf(node))
  node.estimates.set(NEW, 400_000n)
  node.estimates.set(OLD, 30_000n)
  t.match(await gasOf(native(NEW)), { gasLimit: 500_000n, newAccount: 479_000n })
  t.match(await gasOf(native(OLD)), { gasLimit: 37_500n, newAccount: 0n })
})

t.test('the limit of a token transfer is learned from the estimate, once for all of its requests', async (t) => {
  const node = createForkNode('osaka')
  const gasOf = createTransferGas(chainOf(node))
  node.estimates.set(TOKEN, 350_000n)
  const held = await Promise.all([token(OLD), token(NEW)].map(gasOf))
  t.strictSame(
    held.map(({ gasLimit }) => gasLimit),
    [420_000n, 420_000n],
  )
  const before = node.asked.get('eth_estimateGas')
  await gasOf(token(SAFE))
  t.equal(node.asked.get('eth_estimateGas'), before)
  node.estimates.set(TOKEN, 50_000n)
  t.match(
    await createTransferGas(chainOf(node))(token(OLD)),
    { gasLimit: 100_000n },
    'a common token holds what it did',
  )
})

t.test('a wallet whose transfer cannot be estimated changes nothing for the others of the token', async (t) => {
  const node = createForkNode('osaka')
  const gasOf = createTransferGas(chainOf(node))
  node.estimates.set(TOKEN, 350_000n)
  node.refusesFrom.add(SAFE)
  const held = await Promise.all([{ ...token(OLD), from: SAFE }, token(OLD)].map(gasOf))
  t.strictSame(
    held.map(({ gasLimit }) => gasLimit),
    [100_000n, 420_000n],
  )
})

t.test('an estimate above what a transfer was allowed is believed by nobody', async (t) => {
  const node = createForkNode('osaka')
  node.estimates.set(TOKEN, 1n << 40n)
  t.match(await createTransferGas(chainOf(node))(token(OLD)), { gasLimit: 100_000n })
})

t.test('the lane and the preview judge as the request was, and code alone is simulated', async (t) => {
  for (const fork of ['osaka', 'amsterdam'] as const) {
    const node = createForkNode(fork)
    const chain = chainOf(node)
    const gasOf = createTransferGas(chain)
    const estimate = createEstimateGas(oneNode(node), chain.code, createPlainGas(chain))
    for (const to of [OLD, NEW]) {
      const [judged] = await estimate([{ from: FROM, call: { to, value: 5n, data: '0x' }, mostGas: 1_000_000n }])
      const held = await gasOf(native(to))
      t.match(judged, { ok: true, gasLimit: held.gasLimit, newAccount: held.newAccount }, `${fork} ${to}`)
    }
  }
})

t.test(
  'a cancellation gets 21,000, or what nodes with unknown rules estimate, within the bound of the parties',
  async (t) => {
    const gasOf = (node: ReturnType<typeof createForkNode>) => emptyTransferGas(createPlainGas(chainOf(node)), FROM)
    for (const fork of ['osaka', 'amsterdam'] as const) t.equal(await gasOf(createForkNode(fork)), 21_000n, fork)
    const node = createForkNode('later')
    node.estimates.set(FROM, 32_000n)
    t.equal(await gasOf(node), 40_000n)
    node.estimates.set(FROM, 400_000n)
    t.equal(await gasOf(node), 100_000n)
  },
)

t.test('under unknown rules one estimate lowers nothing that older rules ask for', async (t) => {
  const node = createForkNode('later')
  const chain = chainOf(node)
  const gasOf = createTransferGas(chain)
  node.estimates.set(NEW, 21_000n)
  node.estimates.set(OLD, 1n)
  t.equal((await gasOf(native(NEW))).gasLimit, 255_750n, '204,600 and a quarter')
  t.equal((await gasOf(native(OLD))).gasLimit, 26_250n)
  node.estimates.set(OLD, 30_000n)
  t.equal((await gasOf(native(OLD))).gasLimit, 37_500n, 'a dearer one counts')
})
