/** Clients that pay again once they are told `cancelled`, on a chain that removes the block of the cancellation. */
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, type View, withStage } from '../support/service-stage.ts'

const stage = await withStage(t)
const { service, rpc, mine, send, read, until, settle } = stage
const PAID = 10n ** 12n

/** A transfer whose cancellation a node has, and its own bytes. */
async function sendAndCancel(wallet: LoadWallet): Promise<{ readonly id: string; readonly payment: unknown }> {
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  const payment = await rpc('eth_getRawTransactionByHash', hash)
  const path = `/v1/wallets/${wallet.id}/transactions/${id}/cancel`
  t.equal((await service.api.insist({ method: 'POST', path })).status, 202)
  await eventually(async () => {
    const { state, hashes } = await read(wallet, id)
    return state === 'submitted' && hashes.length === 2
  })
  return { id, payment }
}

/** What a client does after each answer: it pays again once it is told that the payment was cancelled. */
async function payAgain(wallet: LoadWallet, { status }: View, paid: string[]): Promise<void> {
  if (status === 'cancelled' && paid.length === 0) paid.push(await send(wallet, '0.000001'))
}

const feedOf = async (id: string): Promise<string[]> => {
  const { body } = await service.api.insist({ path: `/v1/events?resource=${id}` })
  return body.data.events.map(({ type }: { readonly type: string }) => type)
}

t.test(
  'a client that pays again only on `cancelled` pays once when the block of the cancellation leaves',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    await mine(6) // Deeper than the reorg, so that the funds stay.
    const { id, payment } = await sendAndCancel(wallet)
    const paid: string[] = []
    await mine()
    await payAgain(wallet, await until(wallet, id, 'cancelling', 'cancelled'), paid)
    await rpc('anvil_reorg', 1, [])
    await rpc('anvil_dropAllTransactions')
    await rpc('eth_sendRawTransaction', payment)
    await mine(4)
    const view = await until(wallet, id, 'confirmed')
    await payAgain(wallet, view, paid)
    await settle()
    t.strictSame(
      (await onChain(stage, wallet)).map(({ amount }) => amount),
      [PAID],
      'the payee is paid once',
    )
    const told = await feedOf(id)
    t.notOk(told.includes('transaction.cancelled') || told.includes('transaction.settlement_revoked'), told.join(', '))
    t.ok(
      view.history.some(({ state }) => state === 'cancelling'),
      'the history shows the block of the cancellation',
    )
  },
)

t.test('a cancellation is told when it has its confirmations, and a deeper reorg revokes it', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await mine(8)
  const { id } = await sendAndCancel(wallet)
  await mine()
  t.match(await until(wallet, id, 'cancelling', 'cancelled'), {
    state: 'cancelling',
    status: 'pending',
    confirmations: 1,
  })
  const path = `/v1/wallets/${wallet.id}/transactions/${id}`
  t.equal((await service.api.insist({ method: 'POST', path: `${path}/cancel` })).status, 202, 'it is being cancelled')
  const { status, body } = await service.api.insist({ method: 'POST', path: `${path}/speed-up`, body: {} })
  matchExactly(t, [status, body.errors], [409, [{ code: 'cancellation_requested' }]])
  await mine()
  t.match(await until(wallet, id, 'cancelled'), { status: 'cancelled', confirmations: 2 })
  await rpc('anvil_reorg', 4, [])
  t.match(await until(wallet, id, 'reorged', 'submitted'), { status: 'pending' })
  await settle()
  t.equal((await read(wallet, id)).status, 'cancelled')
  const told = (await feedOf(id)).filter((type) => /mined|cancelled|revoked/.test(type))
  t.strictSame(told, [
    'transaction.mined',
    'transaction.cancelled',
    'transaction.settlement_revoked',
    'transaction.mined',
    'transaction.cancelled',
  ])
  t.strictSame(await onChain(stage, wallet).then((all) => all.map(({ amount }) => amount)), [0n])
})

t.end()
