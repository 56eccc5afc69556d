/** The guard in the service: what a hosted route cannot do after it was signed, and chains without a guard. */
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { EXECUTOR_ADDRESS, GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { accepted } from '../support/client.ts'
import type { Lie } from '../support/hosted-source.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { AGGREGATOR, withData, withSource } from '../support/source-service.ts'
import { ALICE, mined } from '../support/swap-stage.ts'

const BUYING = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }
const SELLING = { from_asset: 'USDC', to_asset: 'ETH', amount: '1000' }

t.test('a route that keeps everything once it is signed fails on chain, and the wallet keeps its amount', async (t) => {
  const { taken, swap, settled, until, source, contracts, exchanges, aggregator, service, wallet, url } =
    await withSource(t)
  await settled(await swap(BUYING))
  const through: Lie = (answer) => {
    const [token, amount] = answer.allowanceTarget === null ? [contracts.usdt, 0] : [contracts.usdc, answer.sellAmount]
    const args = [token, amount, exchanges.swapRouter, answer.transaction.data]
    const data = AGGREGATOR.abi.encodeFunctionData('run', args)
    return withData({ ...answer, allowanceTarget: answer.allowanceTarget && aggregator }, { to: aggregator, data })
  }
  source.answerBy(through)
  const token = async () => {
    const data = `0x70a08231${wallet.address.slice(2).toLowerCase().padStart(64, '0')}`
    return callRpc(url, 'eth_call', [{ to: contracts.usdc, data }, 'latest'])
  }
  const before = await token()
  const [buying, selling] = [await taken(BUYING), await taken({ ...SELLING, slippage_bps: 500 })]
  matchExactly(
    t,
    [buying, selling],
    [{ route: [{ contract: GUARD_ADDRESS }] }, { approval: { spender: GUARD_ADDRESS } }],
  )
  await service.stopWorker('submitter')
  const reply = await swap({ quote_id: buying.quote_id })
  await until(accepted(reply).transaction_id, 'signed')
  await mined(url, { from: ALICE, to: aggregator, data: AGGREGATOR.abi.encodeFunctionData('close') })
  await service.startWorker('submitter')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', failure: { code: 'slippage_exceeded' }, swap: { executed_to_amount: null } })
  t.not(failed.hash, null, 'it was in a block')
  t.equal(await token(), before, 'nothing was received')
  const wei = BigInt((await callRpc(url, 'eth_getBalance', [wallet.address, 'latest'])) as string)
  t.ok(wei > 9_985n * 10n ** 17n, `and nothing but gas was paid, after a swap of 1 ETH from 1000: ${wei}`)
  // A closed route gives nothing to a simulation either: the token is approved, and the swap is not signed.
  const moved = await swap({ quote_id: selling.quote_id })
  matchExactly(t, moved, { status: 409, body: { errors: [{ code: 'quote_moved' }] } })
})

t.test('without the code of the guard and its executor, hosted routes are off, and readyz says so', async (t) => {
  const { quote, taken, swap, source, url, service } = await withSource(t)
  const [guard, executor] = [await codeAt(url, GUARD_ADDRESS), await codeAt(url, EXECUTOR_ADDRESS)]
  const offered = await taken(BUYING)
  const warning = async () => {
    const { body } = await service.api.insist({ path: '/readyz' })
    return JSON.stringify(body)
  }
  t.notMatch(await warning(), /hosted quotes are off/)
  const cases = [
    [GUARD_ADDRESS, '0x', guard, `the swap guard is not deployed at ${GUARD_ADDRESS}`],
    [EXECUTOR_ADDRESS, '0x6000', executor, `the code at ${EXECUTOR_ADDRESS} is not that of the executor of swaps`],
  ] as const
  for (const [address, wrong, right, said] of cases) {
    await callRpc(url, 'anvil_setCode', [address, wrong])
    const asked = source.requests.length
    matchExactly(t, (await quote(BUYING)).route, [{ protocol: 'v2' }])
    t.equal(source.requests.length, asked, 'the source is not asked')
    t.ok(await eventually(async () => (await warning()).includes(said) || undefined))
    const late = await swap({ quote_id: offered.quote_id })
    matchExactly(
      t,
      late,
      { status: 409, body: { errors: [{ code: 'quote_expired' }] } },
      'nor is an older offer accepted',
    )
    await callRpc(url, 'anvil_setCode', [address, right])
  }
  matchExactly(t, (await taken(BUYING)).route, [{ contract: GUARD_ADDRESS }])
})

async function codeAt(url: string, address: string): Promise<string> {
  return (await callRpc(url, 'eth_getCode', [address, 'latest'])) as string
}
