/** The processes as composed: a request goes through the log, the dispatcher and the signer to the parties and back. */
import t, { type Test } from 'tap'
import type { ApiContext } from '../../src/api-context.ts'
import { composeApi } from '../../src/compose/api.ts'
import { createApiContext } from '../../src/compose/api-context.ts'
import { startDispatcher } from '../../src/compose/dispatcher.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { startSigner } from '../../src/compose/signer.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { holdJointKeys } from '../../src/mpc-wallets/hold-keys.ts'
import { recordAccusation } from '../../src/mpc-wallets/record-accusation.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { signerConfig } from '../support/config.ts'
import { ALL_ALIVE, beatAs, rememberedParties } from '../support/mpc-log-side.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, hdRequest } from '../support/wallet-parts.ts'

type KeyRow = { readonly key_id: string; readonly wallet_id: string | null; readonly epoch: number }

async function withProcesses(t: Test, env: Record<string, string>) {
  const { url, pool } = await withDatabase(t)
  const config = signerConfig(t, url, { SWEEP_INTERVAL_MS: '100', LEASE_MS: '1000', ...env })
  const parties = rememberedParties()
  // Nobody signs here: these tests cover keys and their shares.
  const nobody = async () => {
    throw new Unavailable('signer_unavailable', 'nobody signs here')
  }
  const coordinator = {
    signer: { signTransactions: nobody, signTypedData: nobody, signMessage: nobody },
    ceremonies: parties,
    settle: () => undefined,
    close: async () => undefined,
  }
  const stop = new AbortController()
  const kernels = ['dispatcher', 'signer', 'api'].map((name) => composeKernel(config, name))
  const [dispatcher, signer, api] = kernels as [Kernel, Kernel, Kernel]
  const works = [
    await startDispatcher(dispatcher, stop.signal),
    await startSigner(signer, stop.signal, { mpc: { open: async () => holdJointKeys(signer, coordinator) } }),
  ]
  const { app } = await composeApi(api, '0.0.0-test')
  t.after(async () => {
    stop.abort()
    await Promise.all(works.map(({ drain }) => drain()))
    await app.close()
    await Promise.all(kernels.map((kernel) => kernel.close()))
  })
  await beatAs(pool, ALL_ALIVE)
  const keys = async () => (await pool.query<KeyRow>('SELECT key_id, wallet_id, epoch FROM mpc_keys')).rows
  return { pool, parties, app, keys, signer, api, ctx: createApiContext(api), log: api.log }
}

async function requestMpc({ ctx }: { readonly ctx: ApiContext }): Promise<string> {
  return (await requestWallet(ctx, hdRequest({ type: 'mpc' }), { metadata: ACME })).id
}

t.test('wallets get keys that were made ahead, and the pool is filled again', async (t: Test) => {
  const service = await withProcesses(t, { MPC_POOL_SIZE: '2' })
  const pooled = async () => (await service.keys()).filter(({ wallet_id }) => wallet_id === null).length
  await eventually(async () => (await pooled()) === 2)
  const ids = [await requestMpc(service), await requestMpc(service)]
  await eventually(async () => (await service.keys()).filter(({ wallet_id }) => wallet_id !== null).length === 2)
  await eventually(async () => (await pooled()) === 2)
  const owners = (await service.keys()).flatMap(({ wallet_id }) => wallet_id ?? [])
  t.strictSame(owners.toSorted(), ids.toSorted())
  t.match((await service.app.inject({ url: '/metrics' })).payload, /^bursar_mpc_pool_keys\{process="api"\} 2$/m)
})

t.test('old shares are refreshed automatically, those of the pool are not', async (t: Test) => {
  const service = await withProcesses(t, { MPC_POOL_SIZE: '1', MPC_REFRESH_INTERVAL_DAYS: '1' })
  const id = await requestMpc(service)
  await eventually(async () => (await service.keys()).length === 2)
  await service.pool.query(`UPDATE mpc_keys SET refreshed_at = refreshed_at - interval '1 day'`)
  const rows = await eventually(async () => {
    const keys = await service.keys()
    return keys.some(({ epoch }) => epoch === 1) && keys
  })
  t.strictSame(
    rows.map(({ wallet_id, epoch }) => [wallet_id, epoch]).toSorted(),
    [
      [id, 1],
      [null, 0],
    ].toSorted(),
  )
})

t.test('a ban is counted and shown until the shares are refreshed', async (t: Test) => {
  const service = await withProcesses(t, { MPC_POOL_SIZE: '0' })
  await requestMpc(service)
  const [key] = await eventually(async () => {
    const keys = await service.keys()
    return keys.length === 1 && keys
  })
  const keyId = key?.key_id ?? ''
  const accusation = { keyId, epoch: 0, party: 2, accusedBy: 1, reason: 'its commitment does not open' }
  for (const accusedBy of [1, 1, 3]) await recordAccusation(service.signer, { ...accusation, accusedBy })
  const counted = await service.signer.metrics.registry.metrics()
  t.match(counted, /^bursar_mpc_accusations_total\{party="2",accused_by="1",process="signer"\} 1$/m)
  t.match(counted, /^bursar_mpc_bans_total\{party="2",process="signer"\} 1$/m)
  const gauges = async () => (await service.app.inject({ url: '/metrics' })).payload
  t.match(await gauges(), /^bursar_mpc_banned_keys\{party="2",process="api"\} 1$/m)
})

t.test('while parties are slow, wallets of type mpc wait and hd wallets do not', async (t: Test) => {
  const service = await withProcesses(t, { MPC_POOL_SIZE: '0' })
  let answer: () => void = () => undefined
  const slow = new Promise<void>((resolve) => {
    answer = resolve
  })
  service.parties.onStep = () => slow
  const mpc = await Promise.all([0, 1, 2].map(() => requestMpc(service)))
  const { pool, ctx } = service
  const hd = await requestWallet(ctx, hdRequest(), { metadata: ACME })
  const active = async () => {
    const query = `SELECT wallet_id FROM wallets WHERE status = 'active' ORDER BY wallet_id`
    return (await pool.query<{ wallet_id: string }>(query)).rows.map(({ wallet_id }) => wallet_id)
  }
  await eventually(async () => (await active()).length > 0)
  t.strictSame(await active(), [hd.id])
  answer()
  await eventually(async () => (await active()).length === 4)
  t.strictSame(await active(), [...mpc, hd.id].toSorted())
})
