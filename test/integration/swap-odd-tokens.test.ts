/** Swaps of unusual tokens, and of wallets that lack the gas, by the real service on a chain with real exchanges. */
import t from 'tap'
import { formatAmount, parseAmount } from '../../src/core/money.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted } from '../support/client.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { deployPair } from '../support/swap-pair.ts'
import { withSwapService } from '../support/swap-service.ts'
import { ALICE, COIN, mined, TOKEN } from '../support/swap-stage.ts'

const NOBODY = '0x0000000000000000000000000000000000000000'
const [HONEST, PAUSED] = [0, 3]
const swapToken = contractIn(compileSolidity('SwapToken.sol'), 'SwapToken')
const feeToken = contractIn(compileSolidity('FeeToken.sol'), 'FeeToken')

const stage = await withSwapService(t)
const { quote, swap, settled, read, until, service, wallet } = stage

/** A registered token with a pair. */
async function withToken(bytecode: string, tokens: bigint): Promise<string> {
  const contract = await deployPair(stage, bytecode, tokens)
  const body = { network: 'ethereum', contract_address: contract }
  const { status } = await service.api.insist({ method: 'POST', path: '/v1/assets', body, key: contract })
  if (status >= 300) throw new Error('the token was not registered')
  return contract
}

const withDecimals = (decimals: number) => swapToken.bytecode + decimals.toString(16).padStart(64, '0')

function turn(token: string, way: number | undefined) {
  return mined(stage.url, {
    from: ALICE,
    to: token,
    data: swapToken.abi.encodeFunctionData('turn', [way, 100, NOBODY]),
  })
}

async function balanceOf(token: string): Promise<bigint> {
  const data = TOKEN.encodeFunctionData('balanceOf', [wallet.address])
  return BigInt((await callRpc(stage.url, 'eth_call', [{ to: token, data }, 'latest'])) as string)
}

t.test('what was executed is what really moved, of a token with a fee and of one without decimals', async (t) => {
  const fee = await withToken(feeToken.bytecode, 1_000_000n * COIN)
  const whole = await withToken(withDecimals(0), 1_000_000n)
  const cases = [
    { token: fee, decimals: 18 },
    { token: whole, decimals: 0 },
  ]
  for (const { token, decimals } of cases) {
    const bought = await settled(await swap({ from_asset: 'ETH', to_asset: token, amount: '1' }))
    const received = await balanceOf(token)
    t.match(bought, { status: 'confirmed', swap: { executed_from_amount: '1', price_difference_bps: 0 } })
    t.equal(bought.swap.executed_to_amount, formatAmount(received, decimals), 'what arrived')
    const sold = await settled(await swap({ from_asset: token, to_asset: 'ETH', amount: '100', slippage_bps: 0 }))
    t.match(sold, { status: 'confirmed', swap: { executed_from_amount: '100', price_difference_bps: 0 } })
    t.equal(sold.swap.executed_to_amount, sold.swap.quoted_to_amount)
    t.equal(received - (await balanceOf(token)), parseAmount('100', decimals), 'what left')
  }
})

t.test('a swap of a paused token is refused with the reason, until it is not paused any more', async (t) => {
  const token = await withToken(withDecimals(18), 1_000_000n * COIN)
  const buying = { from_asset: 'ETH', to_asset: token, amount: '1' }
  await settled(await swap(buying))
  const selling = { from_asset: token, to_asset: 'ETH', amount: '100' }
  for (const wanted of [buying, selling]) {
    const { quote_id } = await quote(wanted)
    await turn(token, PAUSED)
    for (const body of [{ quote_id }, wanted]) {
      const { status, body: answer } = await swap(body)
      t.equal(status, 422)
      const reason = /TRANSFER_FAILED|TRANSFER_FROM_FAILED/
      t.match(answer.errors?.[0], { field: 'from_asset', code: 'swap_reverts', message: reason, details: { reason } })
    }
    await turn(token, HONEST)
    t.match(await settled(await swap(wanted)), { status: 'confirmed' })
  }
})

t.test('a token that is paused after its approval fails its swap unsigned, and the message names it', async (t) => {
  const token = await withToken(withDecimals(18), 1_000_000n * COIN)
  await settled(await swap({ from_asset: 'ETH', to_asset: token, amount: '1' }))
  const before = await balanceOf(token)
  await service.stopWorker('chain-follower')
  const reply = await swap({ from_asset: token, to_asset: 'ETH', amount: '100' })
  const { depends_on: approval } = await read(accepted(reply).transaction_id)
  await until(approval, 'submitted')
  await turn(token, PAUSED)
  await service.startWorker('chain-follower')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', hash: null, failure: { code: 'allowance_missing' } })
  t.match(failed.failure.message, /TRANSFER_FROM_FAILED.*the token is paused or refuses/)
  t.equal(await balanceOf(token), before, 'no token is lost')
})

t.test('a wallet that lacks only the gas is told what it has and what it needs', async (t) => {
  const [poor, other] = await service.makeWallets(2)
  const path = `/v1/wallets/${poor?.id}`
  const post = (to: string, body: object) => service.api.insist({ method: 'POST', path: `${path}${to}`, body })
  const shortOf = async (body: object, asset: string) => {
    const { status, body: answer } = await post('/swap', body)
    t.equal(status, 422, JSON.stringify(answer))
    const [error] = answer.errors ?? []
    t.match(error, { code: 'insufficient_funds', details: { asset, available: String, needed: String } })
    const { available, needed } = (error as unknown as { details: { available: string; needed: string } }).details
    t.ok(parseAmount(needed, 18) > parseAmount(available, 18), `${needed} is more than ${available}`)
    t.match(error, { message: new RegExp(`${available} ${asset}.*needs ${needed}`) })
    return { available, needed }
  }
  const all = { from_asset: 'ETH', to_asset: 'USDC', amount: '1000', max_price_impact_bps: 5_000 }
  const { available, needed } = await shortOf(all, 'ETH')
  t.equal(available, '1000')
  t.ok(parseAmount(needed, 18) < 1_001n * COIN, 'the amount and the gas')

  t.match(await settled(await post('/swap', { from_asset: 'ETH', to_asset: 'WETH', amount: '1' })), {
    status: 'confirmed',
  })
  const selling = { from_asset: 'WETH', to_asset: 'USDC', amount: '1' }
  const { fee } = (await post('/swap/quote', selling)).body.data
  const balance = BigInt((await callRpc(stage.url, 'eth_getBalance', [poor?.address, 'latest'])) as string)
  // A tenth of the gas of an approval and a swap is enough for a transfer, and for nothing more.
  const amount = formatAmount(balance - parseAmount(fee.max, 18) / 10n, 18)
  t.match(await settled(await post('/transfer', { to: other?.address, asset: 'ETH', amount })), { status: 'confirmed' })
  await shortOf(selling, 'ETH')
  t.equal((await post('/swap/quote', selling)).body.data.issues.balance.asset, 'ETH')
})

t.end()
