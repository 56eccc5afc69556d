/** Several effects of one block on wallets, through the whole service. */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withStage } from '../support/service-stage.ts'

const GWEI = 10n ** 9n

// No reconciliation: it could record the effect of `anvil_setBalance` before a block has it.
const stage = await withStage(t, { env: { RECONCILE_INTERVAL_MS: '600000' } })
const { service, rpc, mine, send, until, settle } = stage

/** A foreign deposit, before all other transactions of the block: anvil takes the highest tip first. */
async function depositFirst(to: string, value: bigint): Promise<void> {
  const fees = { maxPriorityFeePerGas: toQuantity(50n * GWEI), maxFeePerGas: toQuantity(100n * GWEI) }
  await rpc('eth_sendTransaction', { from: RICH, to, value: toQuantity(value), gas: toQuantity(21_000), ...fees })
}

/** Each recorded balance of a wallet, and the chain's in the same block. */
async function booksOf({ id, address }: LoadWallet): Promise<{ recorded: bigint; onChain: bigint }[]> {
  const { rows } = await service.pool.query<{ balance: string; block: string }>(
    `SELECT data->>'balance' AS balance, data->>'blockNumber' AS block FROM events
      WHERE stream_id = $1 AND type = 'BalanceChanged' AND data->'asset'->>'contract' IS NULL ORDER BY stream_version`,
    [`balance-${id}`],
  )
  return Promise.all(
    rows.map(async ({ balance, block }) => ({
      recorded: BigInt(balance),
      onChain: BigInt(String(await rpc('eth_getBalance', address, toQuantity(Number(block))))),
    })),
  )
}

t.test('balances are right after a block with a payment from a deposit in the same block', async (t) => {
  const [poor, rich] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const [paid, other] = [await send(poor, '5'), await send(rich, '3')]
  await until(poor, paid, 'submitted')
  await until(rich, other, 'submitted')
  // Its funds are removed after it was submitted, and come back in the block that mines it.
  await rpc('anvil_setBalance', poor.address, toQuantity(GWEI))
  await depositFirst(poor.address, 7n * 10n ** 18n)
  await mine()
  const mined = [await until(poor, paid, 'mined'), await until(rich, other, 'mined')]
  t.equal(mined[0]?.block_number, mined[1]?.block_number, 'one block contains both payments')
  await settle()
  t.match(await stage.read(poor, paid), { state: 'confirmed' })
  t.match(await stage.read(rich, other), { state: 'confirmed' })
  for (const wallet of [poor, rich]) {
    const books = await booksOf(wallet)
    t.ok(books.length > 1, `${books.length} balances were recorded`)
    for (const { recorded, onChain } of books) t.equal(recorded, onChain)
    const { body } = await service.api.insist({ path: `/v1/wallets/${wallet.id}/balance?asset=ETH` })
    t.equal(body.data.available, body.data.balance, 'no funds are held')
  }
})

t.test('a transfer between two wallets is listed once for each, with its transaction for the sender', async (t) => {
  const [sender, receiver] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const activity = async ({ id }: LoadWallet, query = '') => {
    const { body } = await service.api.insist({ path: `/v1/wallets/${id}/activity${query}` })
    return body.data as { activity: Record<string, unknown>[]; next_cursor: string | null; has_more: boolean }
  }
  await settle()
  const confirmed = (wallet: LoadWallet) =>
    eventually(async () => {
      const { activity: all } = await activity(wallet)
      return all.every(({ status }) => status === 'confirmed') ? all : undefined
    })
  const [before, funded] = [await confirmed(sender), await confirmed(receiver)]
  const id = await send(sender, '1', receiver.address)
  const submitted = await until(sender, id, 'submitted')
  t.match((await activity(sender)).activity[0], { id, transaction_id: id, status: 'pending', block_number: null })
  await mine()
  await until(sender, id, 'mined')
  await settle()
  const { hash } = submitted as { readonly hash: string }
  const out = { id, direction: 'out', status: 'confirmed', amount: '1', counterparty: receiver.address, hash }
  await eventually(async () => (await activity(receiver)).activity[0]?.status === 'confirmed')
  const { activity: sent } = await activity(sender)
  t.match(sent[0], out)
  t.strictSame(sent.slice(1), before, 'it is listed once')
  const [deposit, ...others] = (await activity(receiver)).activity
  t.match(deposit, { id: /^obs_/, direction: 'in', amount: '1', counterparty: sender.address, hash })
  t.equal(deposit?.transaction_id, null, 'the transaction is that of the other wallet')
  t.strictSame(others, funded)
  t.strictSame((await activity(sender, '?direction=in')).activity, sent.slice(1))
  t.strictSame((await activity(sender, '?asset=eth')).activity, sent)
  t.strictSame((await activity(sender, '?asset=USDC')).activity, [])
  const first = await activity(sender, '?limit=1')
  t.strictSame(first.activity, sent.slice(0, 1))
  const second = await activity(sender, `?limit=1&cursor=${first.next_cursor}`)
  t.strictSame([second.activity, second.has_more], [sent.slice(1, 2), sent.length > 2])
})

t.end()
