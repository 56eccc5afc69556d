/** A node that does not answer for one lane delays none of those that share its exchanges. */
import t, { type Test } from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { countsNow } from '../../src/chain/transaction-counts.ts'
import { createPlainGas } from '../../src/transactions/plain-gas.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type RpcNode, startRpcNode } from '../support/rpc-node.ts'

const LANES = 256
const ROUNDS = 20
/** In which one exchange waits for the slow lane, and is asked again in parts. */
const FIRST_MS = 4_000
const TIMEOUT_MS = 30_000

const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const SLOW = address(500)

async function withNode(t: Test) {
  const node = await startRpcNode(t)
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const now = () => performance.now()
  const client = createRpcClient({ urls: [node.url], chainId: 1, timeoutMs: TIMEOUT_MS, now, log })
  t.after(() => client.close())
  await client.call('eth_chainId')
  return { node, client }
}

/** How long each of the others waited in each round, ms. The slow one is asked about again whenever it has an answer. */
async function rounds(ask: (address: string) => Promise<unknown>): Promise<readonly (readonly number[])[]> {
  const all: number[][] = []
  let isAsking = false
  const askSlow = () => {
    if (isAsking) return
    isAsking = true
    const asking = ask(SLOW).catch(() => undefined)
    void asking.then(() => {
      isAsking = false
    })
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const waits: number[] = []
    askSlow()
    const others = Array.from({ length: LANES }, async (_, n) => {
      const startedAt = performance.now()
      if (address(n) !== SLOW) await ask(address(n))
      waits.push(performance.now() - startedAt)
    })
    await Promise.all(others)
    all.push(waits)
  }
  return all
}

function highest(waits: readonly number[], part: number): number {
  return [...waits].sort((a, b) => a - b)[Math.ceil(waits.length * part) - 1] ?? 0
}

async function compare(t: Test, node: RpcNode, ask: (address: string) => Promise<unknown>): Promise<void> {
  const alone = highest((await rounds(ask)).flat(), 0.99)
  node.hangsAt = ({ params }) => JSON.stringify(params).includes(SLOW.slice(2))
  const [first = [], ...later] = await rounds(ask)
  const beside = highest(later.flat(), 0.99)
  t.ok(highest(first, 1) < FIRST_MS, `${Math.round(highest(first, 1))} ms at first`)
  t.ok(beside < 3 * alone + 200, `p99 ${beside.toFixed(1)} ms beside it, ${alone.toFixed(1)} ms without`)
}

t.test('counts of transactions', async (t) => {
  const { node, client } = await withNode(t)
  node.answer = () => '0x5'
  await compare(t, node, (one) => countsNow(client, { address: one, block: null, isFirst: false }))
})

t.test('estimates', async (t) => {
  const { node, client } = await withNode(t)
  node.answer = () => '0x5208'
  const forks = { fork: async () => 'unknown' as const }
  const gas = createPlainGas({ agreed: client.agreed, forks, exists: async (keys) => keys.map(() => false) })
  await compare(t, node, (one) => gas([{ from: one, to: address(1), value: 1n }]))
})

t.test('signed bytes', async (t) => {
  const { node, client } = await withNode(t)
  const bytesOf = (one: string) => `0x${one.slice(2).padStart(220, '1')}`
  await compare(t, node, (one) => client.sendRawTransactions([bytesOf(one)]))
  const sent = await client.sendRawTransactions([bytesOf(address(1))])
  matchExactly(t, sent, [{ outcome: 'accepted' }])
})

t.end()
