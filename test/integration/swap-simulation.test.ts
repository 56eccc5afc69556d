/** Quotes by nodes that cannot simulate a swap as it would be sent. */
import t from 'tap'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { withSwapService } from '../support/swap-service.ts'

t.test('a quote says when it was simulated with code at the wallet, and can be used', async (t) => {
  const { node, before } = await withNodeProxyBefore(t)
  const { quote, swap, settled } = await withSwapService(t, { before })
  const buying = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }
  t.equal((await quote(buying)).issues.simulation, null)
  const answer = { error: { code: -32601, message: 'the method eth_simulateV1 does not exist/is not available' } }
  node.decide = () => ({ type: 'answer', method: 'eth_simulateV1', answer })
  const { quote_id, issues } = await quote(buying)
  t.match(issues.simulation, { code: 'simulated_with_code', reason: /code at the address of the wallet/ })
  t.match(await settled(await swap({ quote_id })), { status: 'confirmed' })
})
