/** Chains that change their result for a transaction: whichever version remains in the end, it was paid once. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { acceptReorg, readRefused } from '../../src/follower/finality.ts'
import { type Anvil, startAnvil } from '../../src/sandbox/anvil.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { reorganise } from '../support/reorganise.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, type Stage, withStage } from '../support/service-stage.ts'

// Nothing is sent again by itself: these tests choose the versions that the node has.
const stage = await withStage(t, { env: { REBROADCAST_AFTER_MS: '600000' } })
const { service, url, rpc, mine, send, read, until, settle } = stage

/** The bytes of every signed version, oldest first. */
async function versionsOf({ service }: Stage, id: string): Promise<{ readonly hash: string; readonly raw: string }[]> {
  const { rows } = await service.pool.query<{ hash: string; raw: string }>(
    `SELECT data->>'hash' AS hash, data->>'rawTransaction' AS raw FROM events
      WHERE stream_id = $1 AND type IN ('TransactionSigned', 'TransactionReplaced') ORDER BY stream_version`,
    [`transaction-${id}`],
  )
  return rows
}

async function blockOf(hash: string | null): Promise<{ number: number; hash: string }> {
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { blockNumber: string; blockHash: string }
  return { number: Number(receipt.blockNumber), hash: receipt.blockHash }
}

t.test('a transaction that a reorg moves to another block is reported there and paid once', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  const { hash } = await until(wallet, id, 'submitted')
  await mine()
  await until(wallet, id, 'mined')
  const before = await blockOf(hash)
  await mine(1)
  await until(wallet, id, 'confirmed')
  await reorganise(url, { depth: 2, again: true })
  await settle()
  const after = await blockOf(hash)
  t.equal(after.number, before.number + 1, 'the new branch has the transaction one block later')
  const view = await read(wallet, id)
  matchExactly(t, view, { state: 'confirmed', hash, hashes: [hash], block_number: after.number })
  t.ok(
    view.history.some(({ state }) => state === 'reorged'),
    'the history has the reorg',
  )
  t.equal((await onChain(stage, wallet)).length, 1)
})

t.test('the first version of a replaced transaction may be mined: it is reported, and paid once', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const path = `/v1/wallets/${wallet.id}/transactions/${id}/speed-up`
  t.equal((await service.api.insist({ method: 'POST', path, body: { gas_priority: 'high' } })).status, 202)
  const [first, second] = (await eventually(async () => {
    const versions = await versionsOf(stage, id)
    return versions.length === 2 && (await read(wallet, id)).state === 'submitted' ? versions : null
  })) as [{ hash: string; raw: string }, { hash: string; raw: string }]
  await eventually(() => rpc('eth_getTransactionByHash', second.hash))
  await rpc('anvil_dropTransaction', second.hash)
  await rpc('eth_sendRawTransaction', first.raw)
  await mine()
  t.match(await until(wallet, id, 'mined'), { hash: first.hash, nonce: 0 })
  await settle()
  matchExactly(t, await read(wallet, id), { state: 'confirmed', hash: first.hash, hashes: [first.hash, second.hash] })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ hash, amount }) => [hash, amount]),
    [[first.hash, 10n ** 12n]],
  )
})

t.test('after a reorg from the second version to the first, the first is reported as mined', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const id = await send(wallet, '0.000001')
  await until(wallet, id, 'submitted')
  const path = `/v1/wallets/${wallet.id}/transactions/${id}/speed-up`
  t.equal((await service.api.insist({ method: 'POST', path, body: { gas_priority: 'high' } })).status, 202)
  const [first, second] = (await eventually(async () => {
    const versions = await versionsOf(stage, id)
    return versions.length === 2 ? versions : null
  })) as [{ hash: string; raw: string }, { hash: string; raw: string }]
  await eventually(() => rpc('eth_getTransactionByHash', second.hash))
  await mine()
  t.match(await until(wallet, id, 'mined'), { hash: second.hash })
  await rpc('anvil_reorg', 1, [[first.raw, 0]])
  await settle()
  t.match(await read(wallet, id), { state: 'confirmed', hash: first.hash })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ hash }) => hash),
    [first.hash],
  )
})

/** An operator says that the chain with another block 0 is the one to follow: until then nothing is undone. */
async function acceptNewChain(t: Test, { service: { pool, places } }: Stage, chainId: number): Promise<void> {
  const wakeUps = createWakeUps(pool, places.database_url)
  t.after(() => wakeUps.close())
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  const refused = await eventually(() => readRefused(pool, chainId))
  t.match(refused.reason, /accept-reorg/)
  await acceptReorg(log, { network: 'ethereum', environment: 'mainnet' }, refused, 'the chain starts again')
}

t.test('a chain that starts again empty gets the same bytes again, as soon as there are funds', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anew-'))
  const port = await freePort()
  let chain: Anvil | null = null
  const start = async (chainId: number) => {
    chain = await startAnvil({ directory, port, chainId, mining: 'call' })
    return chain
  }
  t.after(async () => {
    await chain?.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const anew = await withStage(t, { chain: start })
  const [wallet] = (await anew.service.makeWallets(1)) as [LoadWallet]
  const ids = [await anew.send(wallet, '0.000001'), await anew.send(wallet, '0.000002')]
  await Promise.all(ids.map((id) => anew.until(wallet, id, 'submitted')))
  await anew.settle()
  const before = await Promise.all(ids.map((id) => anew.read(wallet, id)))
  t.strictSame(
    before.map(({ state }) => state),
    ['confirmed', 'confirmed'],
  )
  const { chainId } = chain as unknown as Anvil
  await (chain as unknown as Anvil).stop()
  await start(chainId)
  t.equal(await callRpc(anew.url, 'eth_blockNumber'), '0x0')
  await acceptNewChain(t, anew, chainId)
  for (const id of ids) await anew.until(wallet, id, 'awaiting_funds')
  await anew.rpc('anvil_setBalance', wallet.address, toQuantity(10n ** 21n))
  await anew.settle()
  const after = await Promise.all(ids.map((id) => anew.read(wallet, id)))
  t.strictSame(
    after.map(({ state, hashes }) => [state, hashes]),
    before.map(({ hashes }) => ['confirmed', hashes]),
  )
  t.strictSame(
    (await onChain(anew, wallet)).map(({ amount }) => amount),
    [10n ** 12n, 2n * 10n ** 12n],
  )
})

t.end()
