/**
 * An attacker who writes quotes, or requests swaps with the database login of the API: no swap goes to a contract that
 * the settings of the signer do not name, and none gives less than its quote said.
 */
import t from 'tap'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { newId } from '../../src/compose/new-id.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { OpeningEvent } from '../../src/transactions/all-events.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { accepted } from '../support/client.ts'
import { forge, logOf } from '../support/forge.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { THIEF } from '../support/mpc-asks.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withSwapService } from '../support/swap-service.ts'

const ACME = { tenantId: 'acme', actor: 'test' }
const BUYING = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }

t.test('a quote whose row was changed is no quote', async (t) => {
  const { quote, swap, settled, pool } = await withSwapService(t)
  const changes: readonly (readonly [what: string, path: string, value: unknown])[] = [
    ['the router', '{route,router,address}', THIEF],
    ['the minimum', '{route,legs,0,limit}', '1'],
    ['the bought asset', '{toAsset,contract}', THIEF],
    ['the wallet', '{walletId}', newId('wallet')],
    ['the time until which it is valid', '{expiresAt}', '2099-01-01T00:00:00.000Z'],
  ]
  for (const [what, path, value] of changes) {
    const { quote_id: id } = await quote(BUYING)
    const change = 'UPDATE swap_quotes SET quote = jsonb_set(quote, $2::text[], $3) WHERE quote_id = $1'
    t.equal((await pool.query(change, [id, path, JSON.stringify(value)])).rowCount, 1)
    matchExactly(
      t,
      await swap({ quote_id: id }),
      { status: 404, body: { errors: [{ code: 'quote_not_found' }] } },
      what,
    )
  }
  const [one, other] = [await quote(BUYING), await quote({ ...BUYING, amount: '2' })]
  t.not(one.quote_id, (await quote(BUYING)).quote_id, 'equal quotes have different ids')
  await pool.query(
    'UPDATE swap_quotes SET quote = (SELECT quote FROM swap_quotes WHERE quote_id = $2) WHERE quote_id = $1',
    [one.quote_id, other.quote_id],
  )
  t.match(await swap({ quote_id: one.quote_id }), { status: 404 }, 'the quote of another id')
  t.match(await settled(await swap({ quote_id: other.quote_id })), { status: 'confirmed' }, 'an unchanged one is used')
})

t.test(
  'a swap or an approval that names another contract or bound than the settings and its event is not signed',
  async (t) => {
    const { swap, service, wallet, settled, contracts } = await withSwapService(t)
    const thiefsLog = logOf(t, service.urlAs('api'), service.kernel.wakeUps)
    const reply = await swap(BUYING)
    await settled(reply)
    const { state } = await service.kernel.log.load(transactionAggregate, accepted(reply).transaction_id)
    if (state.state === 'unknown') throw new Error('the swap is in the log')
    const { subject: _, idempotency: __, swap: exchange, ...shared } = state.intent
    const refusal = async (type: OpeningEvent['type'], changed: Partial<Intent>) => {
      const id = newId('transaction')
      const subject = { type: 'swap', id: newId('swap') } as const
      const intent = { ...shared, subject, ...changed }
      await forge(thiefsLog, transactionAggregate, id, [{ type, data: intent } as OpeningEvent], {
        metadata: ACME,
      })
      const said = () => service.lines.find((line) => line.transaction_id === id && line.level === 50 && line.reason)
      return (await eventually(said)).reason
    }
    if (exchange === undefined) throw new Error('the swap is one')
    t.match(await refusal('SwapRequested', { to: THIEF, swap: exchange }), /SWAP_VENUES/)
    t.match(await refusal('SwapRequested', { to: contracts.usdc, swap: exchange }), /must not call a token/)
    t.match(await refusal('SwapRequested', { to: contracts.usdcFeed, swap: exchange }), /SWAP_VENUES/)
    t.match(
      await refusal('SwapRequested', { to: contracts.wrappedNative, swap: exchange }),
      /wrapped token for something/,
    )
    const { data } = state.intent
    const stolen = data?.replaceAll(wallet.address.slice(2).toLowerCase(), THIEF.slice(2).toLowerCase()) ?? null
    t.not(stolen, data)
    t.match(
      await refusal('SwapRequested', { data: stolen, swap: exchange }),
      /no swap of its exchange that pays the wallet/,
    )
    t.match(
      await refusal('SwapRequested', { swap: { ...exchange, limit: '1' } }),
      /the minimum in its call data is not/,
    )
    const approval = (data: string, amount = 0n) =>
      refusal('TokenApprovalRequested', { to: contracts.usdc, data, amount })
    t.match(await approval(encodeApprove(THIEF, 10n ** 30n)), new RegExp(`lets ${THIEF.toLowerCase()} spend`))
    t.match(await approval('0x'), /must call a function/)
    t.match(await approval(`${encodeApprove(state.intent.to, 1n)}00`), /must call approve.* and nothing else/)
    t.match(await approval(encodeApprove(state.intent.to, 1n), 1n), /must not send an amount/)
    const { body } = await service.api.insist({ path: `/v1/wallets/${wallet.id}/transactions?limit=100` })
    t.ok(JSON.stringify(body).includes(accepted(reply).transaction_id))
  },
)
