/** One node of three says that a token has the code of a listed one: its minimum holds nevertheless. */
import t from 'tap'
import { parseAmount } from '../../src/core/money.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted } from '../support/client.ts'
import { withLyingCodes } from '../support/lying-codes.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { byName } from '../support/service-stage.ts'
import { withSwapService } from '../support/swap-service.ts'
import { TOKEN } from '../support/swap-stage.ts'
import { deploySwitchToken } from '../support/switch-token.ts'

t.test('a fee that is switched on after the signature fails the swap, or its minimum arrives', async (t) => {
  const said: Record<string, string> = {}
  const stage = await withSwapService(t, {
    before: async (url) => [await withLyingCodes(t, url, () => ({ said, simulated: {} })), url, byName(url)],
  })
  const { quote, swap, settled, until, service, wallet, url, contracts } = stage
  const token = await deploySwitchToken(stage)
  said[token.contract.toLowerCase()] = (await callRpc(url, 'eth_getCode', [contracts.usdc, 'latest'])) as string
  const body = { network: 'ethereum', contract_address: token.contract }
  await service.api.insist({ method: 'POST', path: '/v1/assets', body, key: token.contract })
  const held = async () => {
    const data = TOKEN.encodeFunctionData('balanceOf', [wallet.address])
    return BigInt((await callRpc(url, 'eth_call', [{ to: token.contract, data }, 'latest'])) as string)
  }
  const buying = { from_asset: 'ETH', to_asset: token.contract, amount: '0.3' }
  matchExactly(t, (await quote(buying)).route, [{ protocol: 'v2' }], 'the other nodes do not say so')
  await service.stopWorker('submitter')
  const reply = await swap(buying)
  await until(accepted(reply).transaction_id, 'signed')
  await token.setFee(1_000)
  await service.startWorker('submitter')
  const done = await settled(reply)
  const least = parseAmount(done.swap.min_to_amount, 18)
  t.ok(done.status === 'failed' || (await held()) >= least, `${done.status}: ${await held()} of at least ${least}`)
})
