/** What several callers send to one node in the same turn of the event loop. */
import t from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { startRpcNode } from '../support/rpc-node.ts'

t.test('what is sent in the same turn does not wait for one who sends more than fits into an exchange', async (t) => {
  const node = await startRpcNode(t)
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const client = createRpcClient({ urls: [node.url], chainId: 1, timeoutMs: 60_000, now: () => performance.now(), log })
  t.after(() => client.close())
  await client.sendRawTransactions(['0x0'])
  const numbered = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, i) => `0x${String(i).padStart(bytes, '0')}`)
  for (const much of [numbered(350, 8), numbered(12, 120_000)]) {
    const ended: string[] = []
    const send = async (name: string, raws: readonly string[]) => {
      const outcomes = await client.sendRawTransactions(raws)
      ended.push(name)
      return outcomes
    }
    const [large, small, other] = await Promise.all([
      send('much', much),
      send('little', ['0xa1', '0xa2']),
      send('little', ['0xb1']),
    ])
    t.strictSame(ended, ['little', 'little', 'much'])
    t.strictSame([large.length, small.length, other.length], [much.length, 2, 1])
    const order = node.asked.map(({ params }) => params[0])
    t.strictSame(order.filter((raw) => much.includes(raw as string)).slice(-much.length), much, 'each keeps its order')
  }
})
