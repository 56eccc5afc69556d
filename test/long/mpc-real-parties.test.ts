/** The life of a key with the real engine: dispatcher, signer and three parties as composed, in one process. */

import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { computeAddress } from 'ethers'
import t, { type Test } from 'tap'
import { createApiContext } from '../../src/compose/api-context.ts'
import { startDispatcher } from '../../src/compose/dispatcher.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { startMpcParty } from '../../src/compose/mpc-party.ts'
import type { Work } from '../../src/compose/run-process.ts'
import { startSigner } from '../../src/compose/signer.ts'
import type { Metadata } from '../../src/core/messages.ts'
import { requestRefresh } from '../../src/mpc-wallets/request-refresh.ts'
import { keptPort } from '../../src/sandbox/ports.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import type { WalletFacts } from '../../src/wallets/wallet-facts.ts'
import { TAG_KEY } from '../support/config.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALL_ALIVE, beatAs, differences } from '../support/mpc-log-side.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, hdRequest } from '../support/wallet-parts.ts'

type KeyRow = {
  readonly key_id: string
  readonly wallet_id: string | null
  readonly epoch: number
  readonly address: string
  readonly public_key: string
}

async function withProcesses(t: Test) {
  const { url, pool } = await withDatabase(t)
  const directory = t.testdir()
  const addresses = [1, 2, 3].map(async (n) => `${n}=127.0.0.1:${await keptPort(join(directory, `${n}.port`))}`)
  const settings = {
    DATABASE_URL: url,
    DATA_DIR: directory,
    SANDBOX: 'true',
    LOG_LEVEL: 'silent',
    DATABASE_POOL_SIZE: '4',
    TRANSACTION_TAG_KEY: TAG_KEY,
    SWEEP_INTERVAL_MS: '100',
    LEASE_MS: '1000',
    MPC_PARTY_ADDRESSES: (await Promise.all(addresses)).join(','),
    MPC_POOL_SIZE: '0',
  }
  await mkdir(join(directory, 'mpc', 'trust'), { recursive: true })
  const running = new Map<string, { readonly kernel: Kernel; readonly work: Work; readonly stop: AbortController }>()
  const begin = async (name: string, start: (kernel: Kernel, signal: AbortSignal) => Promise<Work>, more = {}) => {
    const kernel = composeKernel(loadConfig({ ...settings, ...more }), name)
    const stop = new AbortController()
    running.set(name, { kernel, work: await start(kernel, stop.signal), stop })
    return kernel
  }
  const startParty = (n: number) => begin(`mpc-party-${n}`, startMpcParty, { MPC_PARTY: String(n) })
  const end = async (name: string) => {
    const process = running.get(name)
    running.delete(name)
    process?.stop.abort()
    await process?.work.drain()
    await process?.kernel.close()
  }
  for (const n of [1, 2, 3]) await startParty(n)
  const signer = await begin('signer', startSigner)
  await begin('dispatcher', startDispatcher)
  t.after(async () => {
    for (const name of ['dispatcher', 'signer', 'mpc-party-1', 'mpc-party-2', 'mpc-party-3']) await end(name)
  })
  const keys = async () =>
    (await pool.query<KeyRow>('SELECT key_id, wallet_id, epoch, address, public_key FROM mpc_keys')).rows
  const sharesOf = (n: number) => join(directory, 'mpc', `party-${n}`, 'shares')
  return {
    pool,
    keys,
    signer,
    sharesOf,
    startParty,
    endParty: (n: number) => end(`mpc-party-${n}`),
    ...useCases(signer),
  }
}

function useCases(kernel: Kernel) {
  const ctx = createApiContext(kernel)
  return {
    requestMpc: async () => (await requestWallet(ctx, hdRequest({ type: 'mpc' }), { metadata: ACME })).id,
    requestRefresh: (wallet: WalletFacts, lostBy: number | null, context: { readonly metadata: Metadata }) =>
      requestRefresh(ctx, wallet, lostBy, context),
    findWallet: (id: string) => ctx.findWallet({ tenantId: 'acme', environment: 'mainnet' }, id),
  }
}

t.test('real parties make a key, and repair the share that one of them lost', async (t: Test) => {
  const service = await withProcesses(t)
  await beatAs(service.pool, ALL_ALIVE)
  const id = await service.requestMpc()
  const [key] = await eventually(async () => (await service.keys()).length === 1 && service.keys())
  t.equal(computeAddress(key?.public_key ?? ''), key?.address)
  await service.endParty(3)
  await rm(service.sharesOf(3), { recursive: true })
  await service.startParty(3)
  const wallet = await service.findWallet(id)
  const { id: refreshId } = await service.requestRefresh(wallet, 3, { metadata: ACME })
  await eventually(async () => (await service.keys())[0]?.epoch === 1)
  const { rows } = await service.pool.query('SELECT reason, party, status FROM mpc_refreshes WHERE refresh_id = $1', [
    refreshId,
  ])
  t.strictSame(rows, [{ reason: 'recovery', party: 3, status: 'refreshed' }])
  t.equal((await readdir(service.sharesOf(3))).length, 1)
  matchExactly(t, await service.keys(), [{ address: key?.address, public_key: key?.public_key, wallet_id: id }])
  t.strictSame(await differences(service.pool), [])
})

t.end()
