/**
 * Cancellations and speed-ups that the fee cap, the fees of the network or the funds of the wallet prevent: the answer
 * says so, an operator sees it, and they are signed once the limit is gone.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const GWEI = 10n ** 9n

const stage = await withStage(t, { env: { REPLACE_AFTER_MS: '600000' } })
const { service, rpc, mine, send, read, until, settle } = stage
/** Of every process of this service. */
const settings = service.kernel.chainOf(service.places.networks.ethereum?.chain_id ?? 0).settings as {
  maxFeePerGasWei: bigint
}
const cap = settings.maxFeePerGasWei

async function ask(wallet: LoadWallet, id: string, wish: 'cancel' | 'speed-up') {
  const path = `/v1/wallets/${wallet.id}/transactions/${id}/${wish}`
  const key = randomBytes(8).toString('hex')
  const { status, body } = await service.api.insist({
    method: 'POST',
    path,
    key,
    ...(wish === 'cancel' ? {} : { body: {} }),
  })
  t.equal(status, 202)
  return body.data.warnings as { readonly code: string; readonly message: string }[]
}

async function versions(id: string) {
  const { rows } = await service.pool.query<{ purpose: string | null; max_fee: string }>(
    `SELECT data->>'purpose' AS purpose, data->'fees'->>'maxFeePerGas' AS max_fee FROM events
      WHERE stream_id = $1 AND type IN ('TransactionSigned', 'TransactionReplaced') ORDER BY stream_version`,
    [`transaction-${id}`],
  )
  return rows.map(({ purpose, max_fee }) => ({ purpose, maxFee: BigInt(max_fee) }))
}

const signedFor = (id: string, purpose: string) =>
  eventually(async () => (await versions(id)).some((version) => version.purpose === purpose))

t.test('a cancellation above the fee cap says what it needs, and is signed when the cap is raised', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const [first] = await versions(id)
  settings.maxFeePerGasWei = first?.maxFee ?? 0n
  for (const wish of ['speed-up', 'cancel'] as const) {
    const [warning, ...more] = await ask(wallet, id, wish)
    t.equal(more.length, 0)
    t.equal(warning?.code, 'fee_cap_exceeded')
    t.match(warning?.message, /needs at least [\d.]+ gwei per gas, 12\.5 % more than before, .* cap of [\d.]+ gwei/)
  }
  t.strictSame(await versions(id), [first])
  settings.maxFeePerGasWei = cap
  await signedFor(id, 'cancel')
  t.strictSame(await ask(wallet, id, 'cancel'), [], 'nothing prevents it any more')
  await settle()
  t.match(await read(wallet, id), { status: 'cancelled' })
})

t.test('a cancellation while the network requires more than the cap is signed when fees fall', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  await rpc('anvil_dropAllTransactions')
  await service.stopWorker('signer')
  await rpc('anvil_setNextBlockBaseFeePerGas', toQuantity(cap * 2n))
  await mine()
  // The quote of the API is a few seconds old at most.
  const body = { to: wallet.address, amount: '0.000001', asset: 'ETH' }
  const preview = { method: 'POST', path: `/v1/wallets/${wallet.id}/transfer/preview`, body } as const
  await eventually(async () => (await service.api.once(preview)).status === 503)
  const warned = await eventually(async () => (await ask(wallet, id, 'cancel'))[0])
  await service.startWorker('signer')
  t.equal(warned.code, 'fee_cap_exceeded')
  t.match(warned.message, /the network requires more per gas than the cap/)
  t.equal((await versions(id)).length, 1)
  await rpc('anvil_setNextBlockBaseFeePerGas', toQuantity(GWEI))
  await mine()
  await signedFor(id, 'cancel')
  await settle()
  t.match(await read(wallet, id), { status: 'cancelled' })
})

t.test('a speed-up that the wallet cannot pay says what is missing, and is signed when it is there', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const balance = BigInt((await rpc('eth_getBalance', wallet.address, 'latest')) as string)
  // Exactly what the transaction holds: nothing is left for higher fees.
  const { rows } = await service.pool.query<{ held: string }>('SELECT held FROM wallet_holds WHERE wallet_id = $1', [
    wallet.id,
  ])
  const setBalance = async (wei: bigint) => {
    await service.pool.query('UPDATE balances SET balance = $2 WHERE wallet_id = $1', [wallet.id, wei.toString()])
  }
  await setBalance(BigInt(rows[0]?.held ?? 0))
  const [warning] = await ask(wallet, id, 'speed-up')
  t.equal(warning?.code, 'insufficient_funds')
  t.match(warning?.message, new RegExp(`send at least 0\\.\\d+ ETH to ${wallet.address}`))
  t.equal((await versions(id)).length, 1)
  await setBalance(balance)
  await signedFor(id, 'speed_up')
  await settle()
  t.match(await read(wallet, id), { status: 'confirmed' })
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.end()
