/** Swaps under a policy, over HTTP: an approval for the exchange is judged as its swap, and counts once. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { ReplyBody } from '../support/client.ts'
import { accepted } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { withSwapService } from '../support/swap-service.ts'

const HOUR = 3_600

const { service, pool, contracts, swap, settled, quote, read, wallet } = await withSwapService(t)
const { api } = service
const dollar = `eip155:1000001/erc20:${contracts.usdc}`
const buy = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }
const sell = { from_asset: 'USDC', to_asset: 'ETH', amount: '100' }
t.match(await settled(await swap(buy)), { status: 'confirmed' })

const recorded = async () =>
  (
    await pool.query(
      `SELECT (SELECT count(*) FROM events WHERE stream_id LIKE 'transaction-%') AS events,
              (SELECT count(*) FROM swaps) AS swaps, (SELECT sum(spent) FROM spend_buckets) AS spent,
              (SELECT sum(held) FROM wallet_holds WHERE wallet_id = $1) AS held`,
      [wallet.id],
    )
  ).rows

const denied = (rule: string, version: number) => ({
  status: 403,
  body: { errors: [{ type: 'policy_error', code: 'policy_denied', details: { rule, version, reason: 'denied' } }] },
})

t.test('the approval of an allowed swap is no allowance to a rule', async (t) => {
  const version = await publishOver(api, [
    { id: 'no-allowances', effect: 'deny', match: { actions: ['approve'] } },
    { id: 'no-calls', effect: 'deny', match: { actions: ['contract_call'] } },
  ])
  const sold = await settled(await swap(sell))
  t.match(sold, { type: 'SWAP', status: 'confirmed' })
  t.match(await read(sold.swap.approval_transaction_id), { type: 'APPROVAL', status: 'confirmed' })
  const { rows } = await pool.query(
    `SELECT DISTINCT type, (data->>'policy')::jsonb->>'version' AS version FROM events
      WHERE stream_version = 1 AND stream_id = ANY ($1) ORDER BY 1`,
    [[sold.transaction_id, sold.swap.approval_transaction_id].map((id) => `transaction-${id}`)],
  )
  t.strictSame(
    rows,
    ['SwapRequested', 'TokenApprovalRequested'].map((type) => ({ type, version: String(version) })),
    'both name the version',
  )
})

t.test('a swap that a rule denies records neither itself nor its approval, and has no quote', async (t) => {
  const version = await publishOver(api, [
    { id: 'no-dollars', effect: 'deny', match: { actions: ['swap'], assets: { in: [dollar] } } },
    { id: 'wide', effect: 'deny', match: { actions: ['swap'], slippage_bps: { gte: 100 } } },
  ])
  const before = await recorded()
  const key = randomBytes(8).toString('hex')
  matchExactly(t, await swap(sell, { key }), denied('no-dollars', version))
  matchExactly(t, await swap({ ...buy, slippage_bps: 100 }), denied('wide', version))
  const asked = { method: 'POST', path: `/v1/wallets/${wallet.id}/swap/quote`, body: sell } as const
  matchExactly(t, await api.insist(asked), denied('no-dollars', version))
  t.strictSame(await recorded(), before, 'nothing is recorded, held or counted')
  const quoted = await quote(buy)
  t.match(await settled(await swap({ quote_id: quoted.quote_id })), { status: 'confirmed' }, 'buying is allowed')

  await publishOver(api, [])
  const first = await swap(sell, { key })
  t.notOk(first.headers['idempotency-replayed'], 'the refusal used no key')
  const again = await swap(sell, { key })
  t.equal(accepted(again).transaction_id, accepted(first).transaction_id)
  t.match(await settled(first), { status: 'confirmed' })
})

function detailsOf({ errors }: ReplyBody): Readonly<Record<string, unknown>> {
  const [error] = (errors ?? []) as readonly { readonly details?: Readonly<Record<string, unknown>> }[]
  return error?.details ?? {}
}

t.test('a limit counts what a swap sells once, and not again for its approval', async (t) => {
  const version = await publishOver(api, [
    {
      id: 'dollars',
      effect: 'limit',
      match: { actions: ['swap'] },
      limit: { asset_id: dollar, amount: '1000', window_seconds: HOUR },
    },
  ])
  const earlier = await left()
  t.match(await settled(await swap(sell)), { status: 'confirmed' })
  const before = await recorded()
  const rest = await left()
  t.equal(Number(earlier) - Number(rest), 100)
  t.strictSame(await recorded(), before)
  matchExactly(t, await swap({ ...sell, amount: String(Number(rest) + 1) }), {
    status: 403,
    body: {
      errors: [
        {
          code: 'policy_limit',
          details: {
            ...{ rule: 'dollars', version, limit: '1000', left: rest, needed: String(Number(rest) + 1) },
            ...{ unit: 'USDC', window_seconds: HOUR, available_at: /Z$/ },
          },
        },
      ],
    },
  })
  t.strictSame(await recorded(), before, 'nothing is recorded, held or counted')

  /** What is left, as the refusal of more says. */
  async function left(): Promise<string> {
    const { body } = await swap({ ...sell, amount: '1000' })
    return String(detailsOf(body).left)
  }
})

t.end()
