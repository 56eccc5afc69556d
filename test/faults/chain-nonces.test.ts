/**
 * Pools that lose transactions, foreign transactions that use a wallet's nonces, and nodes that show no proof of it.
 */
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'
import { payAsStranger } from '../support/wallet-key.ts'

/** Later than another program takes to use the nonce of a transaction that the node dropped. */
const REBROADCAST_AFTER_MS = '6000'
const stage = await withStage(t, { env: { REBROADCAST_AFTER_MS } })
const { service, rpc, mine, send, read, until, settle } = stage

t.test('what a node dropped from its pool is sent again, as the same bytes', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  await rpc('anvil_dropTransaction', hash)
  await mine()
  t.equal((await onChain(stage, wallet)).length, 0, 'the node dropped the transaction')
  await settle()
  matchExactly(t, await read(wallet, id), { state: 'confirmed', hash, hashes: [hash] })
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.test(
  'a nonce that another program used is replaced once that is final, and every transfer arrives once',
  async (t) => {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const ids = [await send(wallet, '0.000001'), await send(wallet, '0.000002')]
    const views = await Promise.all(ids.map((id) => until(wallet, id, 'submitted')))
    for (const { hash } of views) await rpc('anvil_dropTransaction', hash)
    await payAsStranger(stage, wallet)
    await mine()
    t.strictSame(
      (await onChain(stage, wallet)).slice(0, 1).map(({ amount }) => amount),
      [7n],
      'the foreign transaction is first',
    )
    await settle()
    const after = await Promise.all(ids.map((id) => read(wallet, id)))
    t.strictSame(
      after.map(({ state }) => state),
      ['confirmed', 'confirmed'],
    )
    matchExactly(t, after[0], { nonce: 2, hashes: [views[0]?.hash, after[0]?.hash] })
    t.strictSame(
      (await onChain(stage, wallet)).map(({ nonce, amount }) => [nonce, amount]),
      [
        [0, 7n],
        [1, 2n * 10n ** 12n],
        [2, 10n ** 12n],
      ],
    )
  },
)

t.test('a gap that a reorg left in the nonces is filled by the next transfer, and both arrive', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const foreign = await payAsStranger(stage, wallet)
  await mine()
  const behind = await send(wallet, '0.000001')
  t.match(await until(wallet, behind, 'submitted'), { nonce: 1 })
  await rpc('anvil_reorg', 1, [])
  await rpc('anvil_dropTransaction', foreign)
  await mine(2)
  const filling = await send(wallet, '0.000002')
  await settle()
  t.match(await read(wallet, filling), { state: 'confirmed', nonce: 0 })
  t.match(await read(wallet, behind), { state: 'confirmed', nonce: 1 })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ amount }) => amount),
    [2n * 10n ** 12n, 10n ** 12n],
  )
})

t.test('a nonce used without any trace on chain is not signed again', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  await rpc('anvil_dropTransaction', hash)
  await rpc('anvil_setNonce', wallet.address, '0x1')
  await mine(5)
  // The search for lost nonces runs every 10 s: two rounds pass.
  await eventually(async () => {
    await mine()
    const { rows: late } = await service.pool.query(
      `SELECT FROM transactions WHERE transaction_id = $1 AND now() - created_at > interval '22 s'`,
      [id],
    )
    return late.length > 0
  })
  matchExactly(t, await read(wallet, id), { nonce: 0, hashes: [hash] }, 'no other bytes are signed')
  await rpc('anvil_setNonce', wallet.address, '0x0')
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', hash })
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.end()
