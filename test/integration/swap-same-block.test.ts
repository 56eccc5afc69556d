/** Somebody trades before a swap in the same block: the failure says what happened, as for a trade in an earlier block. */
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { SwapQuote } from '../../src/swaps/quote.ts'
import { accepted } from '../support/client.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { withSwapService } from '../support/swap-service.ts'

/** The first of anvil's own accounts. */
const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const DEAR = `0x${(400n * 10n ** 9n).toString(16)}`

const { node, before } = await withNodeProxyBefore(t)
const stage = await withSwapService(t, { before })
const { quote, swap, settled, until, service, pool, url } = stage

/** A swap that is in a block behind fifty times the same by somebody else. @returns its transaction */
async function frontRun() {
  const { quote_id } = await quote({ from_asset: 'ETH', to_asset: 'USDC', amount: '1', slippage_bps: 10 })
  const { rows } = await pool.query<{ quote: SwapQuote }>('SELECT quote FROM swap_quotes WHERE quote_id = $1', [
    quote_id,
  ])
  const route = rows[0]?.quote.route
  if (route?.type !== 'pools') throw new Error('the quote goes through pools')
  await service.stopWorker('submitter')
  const reply = await swap({ quote_id })
  const reached = (state: string) => until(accepted(reply).transaction_id, state)
  await reached('signed')
  await callRpc(url, 'evm_setIntervalMining', [0])
  const legs = route.legs.map((leg) => ({ ...leg, amountIn: `${BigInt(leg.amountIn) * 50n}`, limit: '1' }))
  const { to, data, value } = encodeRoute({ ...route, legs }, { wallet: RICH, deadline: 2 ** 40 })
  const fees = { gas: '0x2dc6c0', maxFeePerGas: DEAR, maxPriorityFeePerGas: DEAR }
  await callRpc(url, 'eth_sendTransaction', [{ from: RICH, to, data, value: `0x${value.toString(16)}`, ...fees }])
  await service.startWorker('submitter')
  await reached('submitted')
  await callRpc(url, 'evm_mine')
  await callRpc(url, 'evm_setIntervalMining', [1])
  return settled(reply)
}

t.test('a price that an earlier transaction of the block moved is slippage', async (t) => {
  const failed = await frontRun()
  t.match(failed, {
    status: 'failed',
    failure: { code: 'slippage_exceeded', message: /Too little received|INSUFFICIENT_OUTPUT/ },
  })
  const block = (await callRpc(url, 'eth_getBlockByNumber', [`0x${failed.block_number.toString(16)}`, false])) as {
    transactions: string[]
  }
  t.equal(block.transactions.indexOf(failed.hash), 1, 'behind the other trade, in one block')
})

t.test('a node that cannot show it is no reason to guess', async (t) => {
  const answer = { error: { code: -32601, message: 'the method does not exist' } }
  node.decide = (calls) => {
    const method = calls.find((call) => /^(eth_simulate|debug_trace)/.test(call.method))?.method
    return method === undefined ? { type: 'pass' } : { type: 'answer', method, answer }
  }
  const failed = await frontRun()
  t.match(failed, {
    status: 'failed',
    failure: { code: 'execution_reverted', message: /an earlier transaction of the block/ },
  })
})
t.end()
