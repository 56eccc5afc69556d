/** Transactions of another program with the same key, in blocks that a reorg removes: no lane waits for them afterwards. */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'
import { payAsStranger } from '../support/wallet-key.ts'

const WEI = 10n ** 12n

const stage = await withStage(t)
const { service, rpc, mine, send, settle, until } = stage

/** Sends what a transfer of this amount sends, with the key of the wallet. */
async function payElsewhere(wallet: LoadWallet, nonce: number, value: bigint): Promise<void> {
  await payAsStranger(stage, wallet, nonce, value)
  await mine()
}

/** What the follower keeps of transactions that the log does not know. */
async function kept(table: 'outside_transactions' | 'foreign_nonces'): Promise<number> {
  const { rowCount } = await service.pool.query(`SELECT FROM ${table}`)
  return rowCount ?? 0
}

/** The newest block leaves the chain, with its transactions. */
async function removeNewest(): Promise<void> {
  await rpc('evm_setNextBlockTimestamp', toQuantity(Math.floor(Date.now() / 1_000) + 100))
  await rpc('anvil_reorg', 1, [])
  await mine()
}

t.test('an orphaned payment of another program does not hold the lane whose transfer took its nonce', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await mine(2)
  await payElsewhere(wallet, 0, WEI)
  await eventually(async () => (await kept('outside_transactions')) === 1)
  await removeNewest()
  await eventually(async () => (await kept('outside_transactions')) === 0)
  t.equal(await kept('foreign_nonces'), 0)
  const first = await send(wallet, '0.000002')
  await until(wallet, first, 'submitted')
  // The same payment as the orphaned one, which had the nonce of the first transfer.
  const second = await send(wallet, '0.000001')
  await settle()
  for (const id of [first, second]) t.match(await stage.read(wallet, id), { state: 'confirmed' })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ nonce, amount }) => [nonce, amount]),
    [
      [0, 2n * WEI],
      [1, WEI],
    ],
  )
})

t.test('a payment of another program below a reorg stays known', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await mine(2)
  await payElsewhere(wallet, 0, 7n)
  await mine()
  await eventually(async () => (await kept('outside_transactions')) === 1)
  const { rows } = await service.pool.query('SELECT number FROM chain_cursors')
  await removeNewest()
  await eventually(async () => {
    const now = await service.pool.query('SELECT number FROM chain_cursors')
    return Number(now.rows[0].number) > Number(rows[0].number)
  })
  t.equal(await kept('outside_transactions'), 1)
  t.equal(await kept('foreign_nonces'), 1)
})

t.end()
