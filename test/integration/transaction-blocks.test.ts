/** Several effects of one block on wallets, through the whole service. */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
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

t.end()
