/** Hosted sources of quotes: honest ones, and ones that lie, before real exchanges. */
import t from 'tap'
import { EXECUTOR_ADDRESS, GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import { accepted } from '../support/client.ts'
import { type HonestAnswer, honest, type Lie } from '../support/hosted-source.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { swapLarge } from '../support/overtake.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { AGGREGATOR, withData, withSource } from '../support/source-service.ts'

const OTHER = '0x000000000000000000000000000000000000dEaD'

/** As 0x answers a `taker` that it does not accept. */
const REFUSES_CONTRACTS = {
  name: 'INPUT_INVALID',
  message: 'The input is invalid',
  data: { details: [{ field: 'taker', reason: 'Invalid ethereum address' }] },
}
const BUYING = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }
const SELLING = { from_asset: 'USDC', to_asset: 'ETH', amount: '1000' }

/** Call data that accepts any result. */
function unbounded(answer: HonestAnswer, route: PoolRoute, wallet: string): HonestAnswer {
  const legs = route.legs.map((leg) => ({ ...leg, limit: '1' }))
  return withData(answer, { data: encodeRoute({ ...route, legs }, { wallet, deadline: 2 ** 40 }).data })
}

t.test('an offer that is better is taken, and executes to the unit', async (t) => {
  const { quote, taken, swap, settled, read, allowance, source, contracts, counts, service, wallet } =
    await withSource(t)
  const buying = await taken(BUYING)
  matchExactly(t, buying.route, [
    { venue: null, protocol: '0x', contract: GUARD_ADDRESS, pool: null, hops: [], share_bps: 10_000 },
  ])
  t.equal(buying.route.length, 1)
  t.match(source.requests[0], { headers: { '0x-api-key': source.key, '0x-version': 'v2' } })
  const asked = Object.fromEntries(source.requests[0]?.query ?? [])
  t.match(asked, { taker: EXECUTOR_ADDRESS, recipient: wallet.address, txOrigin: wallet.address })
  const bought = await settled(await swap({ quote_id: buying.quote_id }))
  t.match(bought, { status: 'confirmed', to: GUARD_ADDRESS, depends_on: null })
  t.match(bought.swap, { executed_from_amount: '1', executed_to_amount: buying.to_amount })

  const selling = await taken(SELLING)
  t.match(selling.approval, { needed: true, spender: GUARD_ADDRESS, amount: '1000' })
  const sold = await settled(await swap({ quote_id: selling.quote_id }))
  t.match(sold, { status: 'confirmed', swap: { executed_from_amount: '1000', executed_to_amount: selling.to_amount } })
  t.match(await read(sold.swap.approval_transaction_id), { type: 'APPROVAL', to: contracts.usdc, status: 'confirmed' })
  t.equal(await allowance(contracts.usdc, GUARD_ADDRESS), 0n, 'nothing of it is left')
  t.ok(((await counts()).get('chosen') ?? 0) >= 2)

  const before = source.requests.length
  matchExactly(t, (await quote({ ...BUYING, to_asset: 'WETH' })).route, [{ protocol: 'wrap' }])
  matchExactly(t, (await quote({ ...BUYING, amount: '100', amount_type: 'exact_output' })).route, [{ protocol: 'v2' }])
  t.match((await quote({ ...BUYING, amount: '1001', max_price_impact_bps: 5_000 })).issues, {
    balance: { asset: 'ETH' },
  })
  t.equal(source.requests.length, before, 'a wrap, an exact output, and what the wallet cannot pay are not asked for')
  t.notMatch(JSON.stringify(service.lines), source.key)
})

t.test('no lie is taken, and the own route answers', async (t) => {
  const { quote, taken, swap, settled, source, contracts, exchanges, aggregator, counts, service, wallet } =
    await withSource(t)
  for (const to_asset of ['USDC', 'USDT']) await settled(await swap({ ...BUYING, to_asset }))
  // What an earlier use left: the contract of the source may take more than the swap, and another token.
  for (const contract_address of [contracts.usdc, contracts.usdt]) {
    const body = { contract_address, function_signature: 'approve(address,uint256)', args: [aggregator, '2000000000'] }
    const path = `/v1/wallets/${wallet.id}/contract-call`
    const reply = await service.api.insist({ method: 'POST', path, body, key: `allow-${contract_address}` })
    t.match(await settled(reply), { status: 'confirmed' })
  }
  const run = (token: string, amount: bigint, data: string) =>
    AGGREGATOR.abi.encodeFunctionData('run', [token, amount, exchanges.swapRouter, data])
  const through =
    (token: string, amount: bigint): Lie =>
    (answer) =>
      withData(
        { ...answer, allowanceTarget: answer.allowanceTarget === null ? null : aggregator },
        { to: aggregator, data: run(token, amount, answer.transaction.data) },
      )
  const status =
    (code: number, headers: Readonly<Record<string, string>> = {}, body: object = {}): Lie =>
    (_answer, _route, response) =>
      void response.writeHead(code, headers).end(JSON.stringify(body))
  const times = (text: string, factor: bigint) => (BigInt(text) * factor).toString()
  const lies: readonly [string, object, Lie, string][] = [
    ['another target', BUYING, (answer) => withData(answer, { to: OTHER }), 'target_not_pinned'],
    ['another spender', SELLING, (answer) => ({ ...answer, allowanceTarget: OTHER }), 'spender_not_pinned'],
    ['no spender', SELLING, (answer) => ({ ...answer, allowanceTarget: null }), 'spender_not_pinned'],
    ['a higher value', BUYING, (answer) => withData(answer, { value: times(answer.sellAmount, 2n) }), 'wrong_value'],
    ['a value for a token', SELLING, (answer) => withData(answer, { value: '1' }), 'wrong_value'],
    ['another amount', BUYING, (answer) => ({ ...answer, sellAmount: '7' }), 'wrong_amount'],
    ['less than it says', BUYING, (answer) => ({ ...answer, buyAmount: times(answer.buyAmount, 2n) }), 'gives_less'],
    ['an endless amount', BUYING, (answer) => ({ ...answer, buyAmount: (10n ** 40n).toString() }), 'gives_less'],
    ['takes more', SELLING, through(contracts.usdc, 1_500_000_000n), 'rehearsal_failed'],
    ['moves a second token', BUYING, through(contracts.usdt, 1n), 'rehearsal_failed'],
    ['a revert', BUYING, (answer) => withData(answer, { data: '0xdeadbeef' }), 'rehearsal_failed'],
    ['a low minimum', BUYING, (answer) => ({ ...answer, minBuyAmount: '1' }), 'minimum_too_low'],
    ['a number', BUYING, (answer) => ({ ...answer, buyAmount: 5 }), 'invalid_answer'],
    ['a fraction', BUYING, (answer) => ({ ...answer, buyAmount: '1e40' }), 'invalid_answer'],
    ['no transaction', BUYING, (answer) => ({ ...answer, transaction: null }), 'invalid_answer'],
    ['odd call data', BUYING, (answer) => withData(answer, { data: '0xabcdef012' }), 'invalid_answer'],
    ['long call data', BUYING, (answer) => withData(answer, { data: `0x${'00'.repeat(32_769)}` }), 'invalid_answer'],
    ['a huge body', BUYING, (answer) => ({ ...answer, route: 'x'.repeat(300_000) }), 'invalid_answer'],
    ['no JSON', BUYING, (_answer, _route, response) => void response.end('<html>'), 'invalid_answer'],
    ['no object', BUYING, () => [], 'invalid_answer'],
    ['no liquidity', BUYING, () => ({ liquidityAvailable: false }), 'no_liquidity'],
    ['too many requests', BUYING, status(429), 'rate_limited'],
    ['no offer to a contract', BUYING, status(400, {}, REFUSES_CONTRACTS), 'contract_refused'],
    ['a failure', BUYING, status(500), 'unavailable'],
    ['a redirect', BUYING, status(302, { location: `${source.url}/elsewhere` }), 'unavailable'],
    ['silence', BUYING, () => undefined, 'unavailable'],
  ]
  for (const [name, wanted, lie, outcome] of lies) {
    source.answerBy(lie)
    // On a slow machine, an answer may come too late: then the same lie is told again.
    const counted = await eventually(async () => {
      const before = await counts()
      const { route } = await quote(wanted)
      matchExactly(t, route, [{ protocol: 'v2' }], name)
      const after = await counts()
      return [...after.keys()].find(
        (key) => after.get(key) !== before.get(key) && (key !== 'unavailable' || key === outcome),
      )
    })
    t.equal(counted, outcome, name)
  }
  source.answerBy(honest)
  matchExactly(t, (await taken(BUYING)).route, [{ protocol: '0x' }], 'the same offer without a lie is taken')
  source.answerBy(through(contracts.usdt, 0n))
  matchExactly(t, (await taken(BUYING)).route, [{ contract: GUARD_ADDRESS }], 'and through the same contract')
})

t.test('call data without a minimum is proven at acceptance and again before it is signed', async (t) => {
  const { taken, swap, settled, read, until, source, contracts, service, wallet, url } = await withSource(t)
  await settled(await swap(BUYING))
  let offered: PoolRoute | undefined
  source.answerBy((answer, route) => {
    offered = route
    return unbounded(answer, route, wallet.address)
  })
  const moveThePrice = async (token: string | null) => {
    if (offered === undefined) throw new Error('the source was asked')
    await swapLarge(url, offered, token, 50n)
  }
  const selling = await taken({ ...SELLING, slippage_bps: 10 })
  await service.stopWorker('chain-follower')
  const reply = await swap({ quote_id: selling.quote_id })
  const { swap: details } = await read(accepted(reply).transaction_id)
  await until(details.approval_transaction_id, 'submitted')
  await moveThePrice(contracts.usdc)
  await service.startWorker('chain-follower')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', hash: null, nonce: null, failure: { code: 'slippage_exceeded' } })

  const stale = await taken({ ...BUYING, slippage_bps: 10 })
  await moveThePrice(null)
  const moved = await swap({ quote_id: stale.quote_id })
  matchExactly(t, moved, { status: 409, body: { errors: [{ code: 'quote_moved' }] } })
})
