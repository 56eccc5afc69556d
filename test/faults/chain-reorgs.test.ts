/**
 * Chains that remove blocks: their transactions are submitted again as the same bytes, and everything matches the new
 * branch.
 */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import type { LoadWallet } from '../support/load.ts'
import { openCalls } from '../support/open-calls.ts'
import { deployRegister } from '../support/register.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const stage = await withStage(t)
const { service, rpc, mine, send, read, until, settle } = stage
const [wallet] = (await service.makeWallets(1)) as [LoadWallet]

t.test('a transaction of an orphaned block is sent again as the same bytes, and mined once', async (t) => {
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  await mine()
  const before = await until(wallet, id, 'mined')
  await rpc('anvil_reorg', 1, [])
  await until(wallet, id, 'reorged', 'submitted')
  await settle()
  const after = await read(wallet, id)
  t.equal(after.state, 'confirmed')
  t.equal(after.hash, before.hash, 'the bytes are the same')
  t.ok(
    after.history.some(({ state }) => state === 'reorged'),
    'the history has the reorg',
  )
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount),
    [10n ** 12n],
  )
})

t.test('a transaction reported as final is followed to the new branch', async (t) => {
  const id = await send(wallet, '0.000002')
  await until(wallet, id, 'submitted')
  await mine(3)
  await until(wallet, id, 'confirmed')
  await rpc('anvil_reorg', 6, [])
  await until(wallet, id, 'reorged', 'submitted', 'mined')
  await settle()
  t.equal((await read(wallet, id)).state, 'confirmed')
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount),
    [10n ** 12n, 2n * 10n ** 12n],
  )
})

t.test('after a deep reorg balances and holds equal those of the chain', async (t) => {
  const snapshot = await rpc('evm_snapshot')
  const id = await send(wallet, '0.000003')
  await until(wallet, id, 'submitted')
  await mine(2)
  await until(wallet, id, 'mined', 'confirmed')
  await rpc('evm_revert', snapshot)
  await rpc('evm_setNextBlockTimestamp', toQuantity(Math.floor(Date.now() / 1_000) + 100))
  await mine(4)
  await settle()
  t.equal((await read(wallet, id)).state, 'confirmed')
  const { rows } = await service.pool.query(
    `SELECT b.balance, h.held FROM balances b JOIN wallet_holds h USING (wallet_id, asset_id) WHERE wallet_id = $1`,
    [wallet.id],
  )
  const balance = await rpc('eth_getBalance', wallet.address, 'latest')
  t.strictSame(rows, [{ balance: BigInt(balance as string).toString(), held: '0' }])
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount / 10n ** 12n),
    [1n, 2n, 3n],
  )
})

t.test('a reorg of the dependency after the signature changes nothing, since nonces keep the order', async (t) => {
  const register = await deployRegister(stage.url)
  const { address: to, enter } = register
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const calls = [
    { to, data: enter(1) },
    { to, data: enter(2, 1), dependsOn: 0 },
  ]
  const ids = await openCalls(service.kernel, wallet, ...calls)
  const [first, second] = ids as [string, string]
  await until(wallet, first, 'submitted')
  await mine()
  const { hash } = await until(wallet, second, 'submitted')
  await rpc('anvil_reorg', 1, [])
  await until(wallet, first, 'reorged', 'submitted')
  await settle()
  t.match(await read(wallet, second), { state: 'confirmed', hash, nonce: 1 })
  t.strictSame(await register.entries(), [1, 2])
})

t.end()
