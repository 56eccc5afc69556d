import t from 'tap'
import { agreeing } from '../../src/chain/agreement.ts'
import type { RpcResult } from '../../src/chain/json-rpc.ts'
import { agreedCounts, countsNow, newestCount } from '../../src/chain/transaction-counts.ts'
import { matchExactly } from '../support/match-exactly.ts'

const BLOCK = { number: 9, hash: `0x${'ab'.repeat(32)}` }
const quantity = (count: number): RpcResult => ({ ok: true, value: `0x${count.toString(16)}` })
const SILENCE: RpcResult = {
  ok: false,
  error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' },
}

type Says = { readonly latest: number | string; readonly at?: number | string; readonly pending?: number }

function chain(...said: readonly (Says | 'silent' | 'never')[]) {
  const asked: unknown[] = []
  const nodes = said.map((says, i) => ({
    host: `${i}.test`,
    batch: (requests: readonly { readonly params: readonly unknown[] }[]): Promise<readonly RpcResult[]> => {
      if (says === 'never') return new Promise(() => undefined)
      return Promise.resolve(
        requests.map(({ params: [, block] }): RpcResult => {
          asked.push(block)
          if (says === 'silent') return SILENCE
          const value = block === 'latest' ? says.latest : block === 'pending' ? says.pending : (says.at ?? says.latest)
          if (value === undefined) return { ok: false, error: { kind: 'answer', code: -32000, message: 'no pool' } }
          return typeof value === 'number' ? quantity(value) : { ok: true, value }
        }),
      )
    },
    doubt: () => undefined,
  }))
  const needed = Math.floor(said.length / 2) + 1
  return {
    asked,
    agreed: agreeing(() => nodes, needed),
    newest: async () => BLOCK,
    nodes: () => nodes,
    quorum: { needed, nodes: said.length },
  }
}

const look = (client: ReturnType<typeof chain>, isFirst = false) =>
  countsNow(client, { address: '0xa', block: BLOCK, isFirst })

t.test('the count at a block is what a quorum says, whoever answers first', async (t) => {
  for (const [a, b, c] of [
    [205, 5, 5],
    [5, 205, 5],
    [5, 5, 205],
  ]) {
    const client = chain({ latest: a ?? 0 }, { latest: b ?? 0 }, { latest: c ?? 0 })
    t.match(await look(client), { agreed: 5, quorum: { needed: 2, nodes: 3 } })
    t.strictSame(await agreedCounts(client, ['0xa', '0xb'], 9), [5, 5])
    t.equal(await newestCount(client, '0xa'), 5)
  }
})

t.test('without a quorum there is none, and what each node says is known with its name', async (t) => {
  matchExactly(t, await look(chain({ latest: 5 }, { latest: 6 })), {
    agreed: null,
    latest: [
      { host: '0.test', count: 5 },
      { host: '1.test', count: 6 },
    ],
  })
  matchExactly(t, await look(chain({ latest: 5 }, 'silent')), { agreed: null, latest: [{ host: '0.test', count: 5 }] })
  await t.rejects(agreedCounts(chain({ latest: 5 }, 'silent'), ['0xa'], 9), { code: 'no_quorum' })
  await t.rejects(look(chain('silent', 'silent')), { code: 'rpc_unavailable' })
})

t.test('a node that never answers is not waited for when a quorum has', async (t) => {
  t.match(await look(chain('never', { latest: 5 }, { latest: 5 })), { agreed: 5 })
})

t.test('pools are asked at the first look only, and by the hash of the block', async (t) => {
  const client = chain({ latest: 5, pending: 7 })
  matchExactly(t, await look(client, true), { agreed: 5, latest: [{ count: 5 }], shown: [{ count: 7 }] })
  matchExactly(t, await look(client), { shown: [{ count: 5 }] })
  t.strictSame(client.asked, [{ blockHash: BLOCK.hash }, 'latest', 'pending', { blockHash: BLOCK.hash }, 'latest'])
  matchExactly(t, await look(chain({ latest: 5 }), true), { shown: [{ count: 5 }] }, 'a node without a pool')
})

t.test('a number that no account can have is no answer', async (t) => {
  for (const latest of [2 ** 53 - 1, '0x20000000000000', '0x', 'many'])
    await t.rejects(look(chain({ latest })), String(latest))
})
