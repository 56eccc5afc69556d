/** A token that changes its transfers after a swap was accepted: the minimum arrives, or the swap fails. */
import t from 'tap'
import { formatAmount, parseAmount } from '../../src/core/money.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { accepted, withSwapService } from '../support/swap-service.ts'
import { TOKEN } from '../support/swap-stage.ts'
import { deploySwitchToken } from '../support/switch-token.ts'

const stage = await withSwapService(t)
const { quote, swap, settled, read, service, wallet } = stage
const token = await deploySwitchToken(stage)
const body = { network: 'ethereum', contract_address: token.contract }
await service.api.insist({ method: 'POST', path: '/v1/assets', body, key: token.contract })
const buying = { from_asset: 'ETH', to_asset: token.contract, amount: '0.3' }

t.afterEach(() => token.setFee(0))

async function held(): Promise<bigint> {
  const data = TOKEN.encodeFunctionData('balanceOf', [wallet.address])
  return BigInt((await callRpc(stage.url, 'eth_call', [{ to: token.contract, data }, 'latest'])) as string)
}

t.test('a token that is not listed is bought by a V2 router, although V3 pools give more', async (t) => {
  const { route, min_to_amount, to_amount } = await quote(buying)
  t.match(route, [{ protocol: 'v2' }])
  const before = await held()
  t.match(await settled(await swap(buying)), { status: 'confirmed', swap: { executed_to_amount: to_amount } })
  t.ok((await held()) - before >= parseAmount(min_to_amount, 18))
  const selling = { from_asset: token.contract, to_asset: 'USDC', amount: '5000' }
  t.match((await quote(selling)).route, [{ protocol: 'v3' }], 'it is sold for a listed token by the best router')
})

t.test('a fee that is switched on before the swap is signed fails it unsigned', async (t) => {
  await service.stopWorker('signer')
  const reply = await swap(buying)
  const before = await held()
  await token.setFee(1_000)
  await service.startWorker('signer')
  t.match(await settled(reply), { status: 'failed', hash: null, failure: { code: 'slippage_exceeded' } })
  t.equal(await held(), before)
})

t.test('a fee that is switched on after the swap is signed fails it in its block, and nothing is sold', async (t) => {
  await service.stopWorker('submitter')
  const reply = await swap(buying)
  await eventually(async () => (await read(accepted(reply))).state === 'signed' || undefined)
  const before = await held()
  await token.setFee(1_000)
  await service.startWorker('submitter')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', failure: { code: 'slippage_exceeded' } })
  t.match(failed.swap, { executed_from_amount: null, executed_to_amount: null })
  t.equal(await held(), before)
})

t.test('a fee within the slippage lets the swap give at least its minimum', async (t) => {
  await service.stopWorker('submitter')
  const reply = await swap({ ...buying, slippage_bps: 500 })
  await eventually(async () => (await read(accepted(reply))).state === 'signed' || undefined)
  const before = await held()
  await token.setFee(300)
  await service.startWorker('submitter')
  const done = await settled(reply)
  const arrived = (await held()) - before
  t.match(done, { status: 'confirmed', swap: { executed_to_amount: formatAmount(arrived, 18) } })
  t.ok(arrived >= parseAmount(done.swap.min_to_amount, 18))
})

t.test('an exact output of a token that is not listed is refused with the cause', async (t) => {
  const refused = await swap({ ...buying, amount: '10', amount_type: 'exact_output' })
  const error = { field: 'to_asset', code: 'unlisted_token', message: /exact_input/ }
  t.match(refused, { status: 422, body: { errors: [error] } })
})
t.end()
