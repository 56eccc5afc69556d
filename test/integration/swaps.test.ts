/** Swaps from the request to the block, by the real service on a chain with real exchanges. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { quoteIdOf, type SwapQuote } from '../../src/swaps/quote.ts'
import { keepQuote } from '../../src/swaps/quote-rows.ts'
import { accepted } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withSwapService } from '../support/swap-service.ts'
import { DOLLAR } from '../support/swap-stage.ts'

t.test('a quoted swap gives what was quoted, with an approval of the exact amount where one is needed', async (t) => {
  const stage = await withSwapService(t)
  const { quote, swap, settled, service, contracts, pool } = stage
  const buying = await quote({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' })
  const reply = await swap({ quote_id: buying.quote_id, reference_id: 'buy' }, { key: 'buy' })
  const bought = await settled(reply)
  t.match(bought, {
    type: 'SWAP',
    status: 'confirmed',
    asset: 'ETH',
    amount: '1',
    reference_id: 'buy',
    depends_on: null,
  })
  t.match(bought.swap, {
    to_asset: 'USDC',
    amount_type: 'exact_input',
    approval_transaction_id: null,
    min_to_amount: buying.min_to_amount,
    quoted_to_amount: buying.to_amount,
    executed_from_amount: '1',
    executed_to_amount: buying.to_amount,
    price_difference_bps: 0,
  })
  const again = await swap({ quote_id: buying.quote_id, reference_id: 'buy' }, { key: 'buy' })
  t.equal(again.body.data.transaction_id, reply.body.data.transaction_id, 'a repeated request has one effect')
  matchExactly(t, await swap({ quote_id: buying.quote_id }), {
    status: 409,
    body: { errors: [{ code: 'quote_used' }] },
  })

  const selling = await quote({ from_asset: 'USDC', to_asset: 'ETH', amount: '1000' })
  t.match(selling.approval, { needed: true, amount: '1000' })
  const sold = await settled(await swap({ quote_id: selling.quote_id }))
  t.match(sold, { status: 'confirmed', asset: 'USDC', amount: '1000' })
  t.match(sold.swap, { executed_from_amount: '1000', executed_to_amount: selling.to_amount, price_difference_bps: 0 })
  t.equal(sold.depends_on, sold.swap.approval_transaction_id)
  const approval = await stage.read(sold.depends_on)
  t.match(approval, { type: 'APPROVAL', status: 'confirmed', subject: sold.subject, to: contracts.usdc })
  t.equal(await stage.allowance(contracts.usdc, selling.approval.spender), 0n, 'nothing of it is left')

  const output = { from_asset: 'USDC', to_asset: 'ETH', amount: '0.1', amount_type: 'exact_output' }
  const exact = await settled(await swap(output))
  t.match(exact, { status: 'confirmed', swap: { executed_to_amount: '0.1' } })
  t.equal(exact.amount, exact.swap.max_from_amount, 'the maximum was held')
  const rest = await stage.allowance(contracts.usdc, selling.approval.spender)
  t.ok(rest > 0n && rest < 2n * DOLLAR, 'an exact output leaves a part of its allowance')
  const { differences } = await compareLive(pool, LOG_CONTENTS)
  t.strictSame(differences, [])
  t.equal(service.lines.filter(({ level }) => Number(level) >= 60).length, 0)
})
t.test(
  'a token that refuses to change an allowance gets it set to 0 first, only where something is left',
  async (t) => {
    const { swap, settled, read, allowance, contracts } = await withSwapService(t)
    await settled(await swap({ from_asset: 'ETH', to_asset: 'USDT', amount: '1' }))
    const selling = { from_asset: 'USDT', to_asset: 'ETH', amount: '0.1', amount_type: 'exact_output' }
    const first = await settled(await swap(selling))
    t.match(first, { status: 'confirmed', swap: { executed_to_amount: '0.1' } })
    const approval = await read(first.swap.approval_transaction_id)
    t.equal(approval.depends_on, null, 'nothing was left before')
    t.ok((await allowance(contracts.usdt, first.to)) > 0n)
    const second = await settled(await swap(selling))
    t.match(second, { status: 'confirmed', swap: { executed_to_amount: '0.1' } })
    const again = await read(second.swap.approval_transaction_id)
    t.match(await read(again.depends_on), { type: 'APPROVAL', status: 'confirmed', depends_on: null })
  },
)

t.test('a quote whose price has moved is refused with a fresh one, which can be used', async (t) => {
  const { quote, swap, settled, overtake } = await withSwapService(t)
  const wanted = { from_asset: 'ETH', to_asset: 'USDC', amount: '1', slippage_bps: 0 }
  const stale = await quote(wanted)
  await overtake(stale.quote_id, 50n)
  const moved = await swap({ quote_id: stale.quote_id })
  matchExactly(t, moved, { status: 409, body: { errors: [{ code: 'quote_moved' }] } })
  const { details } = (moved.body.errors?.[0] ?? {}) as { details?: Record<string, string> }
  t.ok(Number(details?.to_amount) < Number(stale.to_amount))
  const done = await settled(await swap({ quote_id: details?.quote_id }))
  t.match(done, { status: 'confirmed', swap: { executed_to_amount: details?.to_amount } })
})

t.test('a price that moves while the approval is mined ends the swap unsigned, and no token is spent', async (t) => {
  const { quote, swap, settled, read, until, overtake, service } = await withSwapService(t)
  await settled(await swap({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' }))
  const selling = await quote({ from_asset: 'USDC', to_asset: 'ETH', amount: '1000', slippage_bps: 10 })
  await service.stopWorker('chain-follower')
  const reply = await swap({ quote_id: selling.quote_id })
  const { swap: details } = await read(accepted(reply).transaction_id)
  await until(details.approval_transaction_id, 'submitted')
  await overtake(selling.quote_id, 50n)
  await service.startWorker('chain-follower')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', hash: null, nonce: null, failure: { code: 'slippage_exceeded' } })
  t.equal(failed.swap.executed_to_amount, null)
  t.match(await read(details.approval_transaction_id), { type: 'APPROVAL', status: 'confirmed' })
})

t.test('a swap whose approval is cancelled fails, and the next one is accepted', async (t) => {
  const { swap, settled, cancel, read, service } = await withSwapService(t)
  await settled(await swap({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' }))
  await service.stopWorker('signer')
  const selling = { from_asset: 'USDC', to_asset: 'ETH', amount: '100' }
  const reply = await swap(selling)
  const { swap: details, subject } = await read(accepted(reply).transaction_id)
  const refused = await swap(selling)
  matchExactly(t, refused, {
    status: 409,
    body: { errors: [{ code: 'swap_in_progress', details: { swap_id: subject.id } }] },
  })
  t.equal((await cancel(details.approval_transaction_id)).status, 202)
  await service.startWorker('signer')
  t.match(await settled(reply), { status: 'failed', hash: null, failure: { code: 'dependency_failed' } })
  t.match(await settled(await swap(selling)), { status: 'confirmed', swap: { executed_from_amount: '100' } })
})

t.test('of swaps that race for one allowance in two API processes, one is accepted', async (t) => {
  const { swap, settled, service, pool } = await withSwapService(t)
  await settled(await swap({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' }))
  const other = await service.startApi()
  const selling = { from_asset: 'USDC', to_asset: 'ETH', amount: '100' }
  const replies = await Promise.all([
    ...Array.from({ length: 3 }, () => swap(selling)),
    ...Array.from({ length: 3 }, () => swap(selling, { api: other })),
  ])
  const taken = replies.filter(({ status }) => status === 202)
  t.equal(taken.length, 1)
  for (const { status, body } of replies)
    if (status !== 202) matchExactly(t, [status, body.errors?.[0]?.code], [409, 'swap_in_progress'])
  for (const reply of taken) t.match(await settled(reply), { status: 'confirmed' })
  const { rows } = await pool.query('SELECT sequence FROM swaps WHERE sequence IS NOT NULL')
  t.strictSame(rows, [{ sequence: 1 }])
})

t.test('20 swaps of one wallet at once are all made, each once', async (t) => {
  const { swap, settled } = await withSwapService(t)
  const amounts = Array.from({ length: 20 }, (_, n) => `0.${1001 + 2 * n}`)
  const replies = await Promise.all(
    amounts.map((amount) => swap({ from_asset: 'ETH', to_asset: 'USDC', amount, slippage_bps: 500 }, { key: amount })),
  )
  const done = await Promise.all(replies.map(settled))
  t.strictSame(
    done.map(({ status, swap: { executed_from_amount: paid } }) => [status, paid]),
    amounts.map((amount) => ['confirmed', amount]),
  )
  t.equal(new Set(done.map(({ hash }) => hash)).size, 20)
})

t.test('a quote of another wallet, a used field and a missing one are refused', async (t) => {
  const { quote, swap, service, pool } = await withSwapService(t)
  const { quote_id } = await quote({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' })
  const codeOf = async (body: object) => {
    const { status, body: answer } = await swap(body)
    return [status, answer.errors?.[0]?.field ?? null, answer.errors?.[0]?.code]
  }
  t.strictSame(await codeOf({ quote_id, amount: '2' }), [422, 'amount', 'not_with_quote'])
  t.strictSame(await codeOf({ from_asset: 'ETH', to_asset: 'USDC' }), [422, 'amount', 'required'])
  t.strictSame(await codeOf({ from_asset: 'ETH', to_asset: 'ETH', amount: '1' }), [422, 'to_asset', 'same_asset'])
  const poor = { from_asset: 'ETH', to_asset: 'USDC', amount: '1001', max_price_impact_bps: 5_000 }
  matchExactly(t, await swap(poor), { body: { errors: [{ code: 'insufficient_funds' }] } })
  const [other] = await service.makeWallets(1)
  const path = `/v1/wallets/${other?.id}/swap`
  const foreign = await service.api.insist({ method: 'POST', path, body: { quote_id }, key: 'foreign' })
  matchExactly(t, foreign, { status: 404, body: { errors: [{ code: 'quote_not_found' }] } })
  const { rows } = await pool.query<{ quote: SwapQuote }>('SELECT quote FROM swap_quotes WHERE quote_id = $1', [
    quote_id,
  ])
  const [row] = rows
  if (row === undefined) throw new Error('the quote is stored')
  const { quoteId: _, ...content } = row.quote
  const old = { ...content, expiresAt: '2026-01-01T00:00:00.000Z' }
  const expired = { ...old, quoteId: quoteIdOf(old) }
  await keepQuote(pool, expired)
  t.strictSame(await codeOf({ quote_id: expired.quoteId }), [409, null, 'quote_expired'])
})

t.end()
