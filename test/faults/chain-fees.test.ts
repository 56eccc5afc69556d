/** Transactions that are stuck, cancelled and sped up: one nonce, and one of its versions on chain. */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const GWEI = 10n ** 9n

const stage = await withStage(t, { env: { REPLACE_AFTER_MS: '1500' } })
const { service, rpc, mine, send, read, until, settle } = stage
const feesOf = async (id: string): Promise<{ nonce: number; maxFee: bigint; tip: bigint; purpose: string }[]> => {
  const { rows } = await service.pool.query<{
    data: { nonce: number; purpose?: string; fees: { maxFeePerGas: string; maxPriorityFeePerGas: string } }
  }>(
    `SELECT data FROM events WHERE stream_id = $1 AND type IN ('TransactionSigned', 'TransactionReplaced') ORDER BY stream_version`,
    [`transaction-${id}`],
  )
  return rows.map(({ data: { nonce, purpose = 'original', fees } }) => ({
    nonce,
    purpose,
    maxFee: BigInt(fees.maxFeePerGas),
    tip: BigInt(fees.maxPriorityFeePerGas),
  }))
}

t.test(
  'a transaction below the base fee is replaced at 12.5 % more or above, with its nonce, until it is mined',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const id = await send(wallet, '0.000001')
    await until(wallet, id, 'submitted')
    const [first] = await feesOf(id)
    // Far above: on a slow machine its fee may be bumped a few times before the block.
    const baseFee = (first?.maxFee ?? 0n) * 5n
    await rpc('anvil_setNextBlockBaseFeePerGas', toQuantity(baseFee))
    await mine()
    t.equal((await onChain(stage, wallet)).length, 0, 'the offer is below the base fee, so nothing is mined')
    await eventually(async () => (await feesOf(id)).length > 1)
    await settle()
    const offers = await feesOf(id)
    for (const [index, { nonce, maxFee, tip }] of offers.slice(1).entries()) {
      const before = offers[index]
      t.equal(nonce, 0)
      t.ok(before && maxFee * 8n >= before.maxFee * 9n && tip * 8n >= before.tip * 9n, 'both fees rise by at least 1/8')
    }
    const mined = await onChain(stage, wallet)
    t.equal(mined.length, 1)
    t.match(await read(wallet, id), { state: 'confirmed', hash: mined[0]?.hash })
    await rpc('anvil_setNextBlockBaseFeePerGas', toQuantity(GWEI))
    await mine()
  },
)

t.test('a transaction that waits for funds keeps its fees', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  const balance = await rpc('eth_getBalance', wallet.address, 'latest')
  await rpc('anvil_dropTransaction', hash)
  await rpc('anvil_setBalance', wallet.address, '0x1')
  await until(wallet, id, 'awaiting_funds')
  const before = (await feesOf(id)).length
  // Many times as long as a transaction may be stuck before its fee is bumped.
  await eventually(async () => {
    const { rowCount } = await service.pool.query(
      `SELECT FROM transactions WHERE transaction_id = $1 AND now() - created_at > interval '15 s'`,
      [id],
    )
    return rowCount === 1
  })
  t.ok((await feesOf(id)).length <= before + 1, 'the fee is bumped at most once')
  await rpc('anvil_setBalance', wallet.address, balance)
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed' })
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.test('a cancelled transfer never arrives, and is reported as cancelled only once that is final', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const asked = await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transactions/${id}/cancel`,
  })
  t.equal(asked.status, 202)
  await eventually(async () => (await feesOf(id)).some(({ purpose }) => purpose === 'cancel'))
  await until(wallet, id, 'submitted')
  t.not((await read(wallet, id)).status, 'cancelled', 'the cancellation is not mined yet')
  await settle()
  t.match(await read(wallet, id), { status: 'cancelled', nonce: 0 })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount, to }) => [amount, to]),
    [[0n, wallet.address.toLowerCase()]],
  )
})

t.test('the outcome is the transfer or the cancellation, whichever is mined', async (t) => {
  const wallets = await service.makeWallets(8)
  const ids = await Promise.all(wallets.map((wallet) => send(wallet, '0.000001')))
  await Promise.all(wallets.map((wallet, index) => until(wallet, ids[index] ?? '', 'submitted')))
  const asked = wallets.map(async (wallet, index) => {
    const path = `/v1/wallets/${wallet.id}/transactions/${ids[index]}/${index % 2 === 0 ? 'cancel' : 'speed-up'}`
    const reply = await service.api.insist({ method: 'POST', path, ...(index % 2 === 0 ? {} : { body: {} }) })
    if (index % 3 === 0) await mine()
    return reply.status
  })
  const statuses = await Promise.all(asked)
  t.ok(
    statuses.every((status) => status === 202 || status === 409),
    `the answers are ${statuses.join(', ')}`,
  )
  await settle()
  for (const [index, wallet] of wallets.entries()) {
    const view = await read(wallet, ids[index] ?? '')
    const [only, ...more] = await onChain(stage, wallet)
    t.equal(more.length, 0, 'the nonce has one transaction')
    t.equal(view.hash, only?.hash)
    t.equal(view.status, only?.amount === 0n ? 'cancelled' : 'confirmed')
  }
})

t.test(
  'a speed-up is the same transfer under the same nonce with higher fees, and one of the two is mined',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const id = await send(wallet, '0.000001')
    await until(wallet, id, 'submitted')
    const asked = await service.api.insist({
      method: 'POST',
      path: `/v1/wallets/${wallet.id}/transactions/${id}/speed-up`,
      body: { gas_priority: 'high' },
    })
    t.equal(asked.status, 202)
    await eventually(async () => (await feesOf(id)).some(({ purpose }) => purpose === 'speed_up'))
    await settle()
    const view = await read(wallet, id)
    const mined = await onChain(stage, wallet)
    t.strictSame(
      mined.map(({ amount }) => amount),
      [10n ** 12n],
    )
    t.match(view, { state: 'confirmed', hash: mined[0]?.hash, nonce: 0 })
    t.ok(view.hashes.length >= 2)
  },
)

t.end()
