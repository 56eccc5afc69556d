/** A token that changes its transfers after a swap was accepted: the minimum arrives, or the swap fails. */
import t from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { formatAmount, parseAmount } from '../../src/core/money.ts'
import { readStory } from '../../src/operator/explain/read-story.ts'
import { tellStory } from '../../src/operator/explain/story.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { OpeningEvent } from '../../src/transactions/all-events.ts'
import { accepted } from '../support/client.ts'
import { forge, logOf } from '../support/forge.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withSwapService } from '../support/swap-service.ts'
import { TOKEN } from '../support/swap-stage.ts'
import { deploySwitchToken } from '../support/switch-token.ts'

const stage = await withSwapService(t)
const { quote, swap, settled, until, service, wallet } = stage
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
  matchExactly(t, route, [{ protocol: 'v2' }])
  const before = await held()
  t.match(await settled(await swap(buying)), { status: 'confirmed', swap: { executed_to_amount: to_amount } })
  t.ok((await held()) - before >= parseAmount(min_to_amount, 18))
  const selling = { from_asset: token.contract, to_asset: 'USDC', amount: '5000' }
  matchExactly(
    t,
    (await quote(selling)).route,
    [{ protocol: 'v3' }],
    'it is sold for a listed token by the best router',
  )
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
  await until(accepted(reply).transaction_id, 'signed')
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
  await until(accepted(reply).transaction_id, 'signed')
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
  matchExactly(t, refused, { status: 422, body: { errors: [error] } })
})

t.test(
  'a swap that gave less than its minimum says so, in its transaction, in an event and in its history',
  async (t) => {
    // As older versions accepted it, and as a process that is taken over still can: by V3 pools, which compare their figure.
    const reply = await swap(buying)
    await settled(reply)
    const { state } = await service.kernel.log.load(transactionAggregate, accepted(reply).transaction_id)
    if (state.state === 'unknown') throw new Error('the swap is in the log')
    const { intent } = state
    const validUntil = new Date((Math.floor(Date.now() / 1_000) + 3_600) * 1_000).toISOString()
    const route: PoolRoute = {
      type: 'pools',
      venue: 'uniswap-v3',
      router: { kind: 'v3', address: stage.exchanges.swapRouter },
      amountType: 'exact_input',
      native: 'in',
      legs: [
        {
          kind: 'v3',
          hops: [{ from: stage.contracts.wrappedNative, to: token.contract, pool: token.contract, feePpm: 500 }],
          amountIn: intent.amount.toString(),
          amountOut: intent.swap?.toAmount ?? '',
          limit: intent.swap?.limit ?? '',
        },
      ],
    }
    const { to, data } = encodeRoute(route, { wallet: wallet.address, deadline: Date.parse(validUntil) / 1_000 })
    const { idempotency: _, ...shared } = intent
    const forged = { ...shared, to, data, validUntil, subject: { type: 'swap', id: newId('swap') } as const }
    const id = newId('transaction')
    await token.setFee(1_000)
    const before = await held()
    const log = logOf(t, service.urlAs('api'), service.kernel.wakeUps)
    const event = { type: 'SwapRequested', data: forged } as OpeningEvent
    await forge(log, transactionAggregate, id, [event], { metadata: { tenantId: 'acme', actor: 'test' } })
    const done = await service.api.settle(`/v1/wallets/${wallet.id}/transactions/${id}`)
    const arrived = (await held()) - before
    const missing = BigInt(intent.swap?.limit ?? 0) - arrived
    t.ok(missing > 0n, 'the owner got less than the minimum')
    const swapped = { executed_to_amount: formatAmount(arrived, 18), missing_to_amount: formatAmount(missing, 18) }
    t.match(done, { status: 'confirmed', swap: swapped })
    const told = await eventually(async () => {
      const { events } = (await service.api.insist({ path: '/v1/events?types=transaction.fell_short' })).body.data
      return events.length === 0 ? undefined : events
    })
    matchExactly(t, told, [
      { type: 'transaction.fell_short', resource: { id }, data: { transaction_id: id, swap: swapped } },
    ])
    t.equal(told.length, 1, 'of no other swap')
    const kept = tellStory(await readStory({ pool: stage.pool, log: service.kernel.log }, id))
    t.match(JSON.stringify(kept), /less arrived than the swap had to give/)
  },
)
t.end()
