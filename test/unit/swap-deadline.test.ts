/** The deadline of a swap, where a node is wrong about the time. */
import t from 'tap'
import type { RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import { confirmQuote } from '../../src/swaps/confirm-quote.ts'
import type { SwapQuote } from '../../src/swaps/quote.ts'

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const WRAPPED = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const HASH = `0x${'ab'.repeat(32)}`
const NOW = Date.parse('2026-11-25T12:00:00.000Z')
const asset = (contract: string | null) => ({ assetId: '', symbol: '', decimals: 18, contract })
const QUOTE = {
  route: { type: 'wrap', contract: WRAPPED, amount: '5' },
  fromAsset: asset(null),
  toAsset: asset(WRAPPED),
  terms: { amountType: 'exact_input', slippageBps: 50, maxPriceImpactBps: 300, deadlineSeconds: 600 },
  approval: { needed: false, spender: null, amount: '0', resetFirst: false },
} as unknown as SwapQuote

/** @param ahead seconds that the newest block is ahead of the clock */
async function deadlineOf(ahead: number): Promise<number> {
  const timestamp = `0x${(NOW / 1_000 + ahead).toString(16)}`
  const batch = async (requests: readonly RpcRequest[]) =>
    requests.map(
      ({ method }): RpcResult =>
        method === 'eth_getBlockByNumber'
          ? { ok: true, value: { number: '0x1', hash: HASH, parentHash: HASH, timestamp } }
          : { ok: false, error: { kind: 'answer', code: -32601, message: 'no such method' } },
    )
  const { deadline } = await confirmQuote({ batch }, QUOTE, { wallet: WALLET, now: NOW })
  return (Date.parse(deadline) - NOW) / 1_000
}

t.test('the deadline counts from the later clock, and is at most twice as far as asked', async (t) => {
  t.equal(await deadlineOf(-30), 600)
  t.equal(await deadlineOf(30), 630)
  t.equal(await deadlineOf(10 * 365 * 86_400), 1_200, 'whatever a node says of the time')
})
