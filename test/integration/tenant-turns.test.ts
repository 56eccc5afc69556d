/**
 * One tenant's queue does not delay another tenant: however much waits, the other's work is next. On every queue back
 * end.
 */

import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { createApiContext } from '../../src/compose/api-context.ts'
import { startDispatcher } from '../../src/compose/dispatcher.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { startSigner } from '../../src/compose/signer.ts'
import type { QueueName } from '../../src/core/registry.ts'
import { QUEUE_LIMITS } from '../../src/declarations.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { takeTurns } from '../../src/jobs/take-turns.ts'
import type { Ceremonies } from '../../src/keys/mpc/ceremonies.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { holdJointKeys } from '../../src/mpc-wallets/hold-keys.ts'
import { requestSignature } from '../../src/signatures/request-signature.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { signerConfig } from '../support/config.ts'
import { inEveryPlace, type JobPlace, openJobs, type Where } from '../support/job-places.ts'
import { ALL_ALIVE, beatAs, rememberedParties } from '../support/mpc-log-side.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { hdRequest } from '../support/wallet-parts.ts'

/** Keys with two signers are slow: their parties answer only after `release`. */
const SLOW = { threshold: 2, parties: 3 }
const QUICK = { threshold: 3, parties: 3 }

/** In-memory parties that create and use real keys, some of them slow. */
function slowParties() {
  const keys = new Map<string, { readonly wallet: Wallet; readonly isSlow: boolean }>()
  let held: Promise<void> | null = null
  let release: () => void = () => undefined
  let waiting = 0
  let most = 0
  async function answer(isSlow: boolean): Promise<void> {
    if (!isSlow || held === null) return
    waiting += 1
    most = Math.max(most, waiting)
    await held
    waiting -= 1
  }
  const ceremonies: Ceremonies = {
    ...rememberedParties(),
    async generateKey({ keyId, threshold }) {
      const isSlow = threshold === SLOW.threshold
      await answer(isSlow)
      const wallet = new Wallet(Wallet.createRandom().privateKey)
      keys.set(keyId, { wallet, isSlow })
      return { address: wallet.address, publicKey: wallet.signingKey.compressedPublicKey }
    },
  }
  const nobody = async () => {
    throw new Error('no test asks for this')
  }
  const signer: Signer = {
    signTransactions: nobody,
    signTypedData: nobody,
    async signMessage({ key, message }) {
      const known = key.kind === 'mpc' ? keys.get(key.keyId) : undefined
      if (known === undefined) throw new Error('the parties have no such key')
      await answer(known.isSlow)
      return known.wallet.signMessage(message)
    },
  }
  return {
    coordinator: { signer, ceremonies, settle: () => undefined, close: async () => undefined },
    /** Current number of awaited answers. */
    waiting: () => waiting,
    /** Maximum number of awaited answers. */
    most: () => most,
    hold() {
      held = new Promise((resolve) => {
        release = resolve
      })
    },
    release: () => release(),
  }
}

async function withProcesses(t: Test, place: JobPlace) {
  const { url, pool } = await withDatabase(t)
  const { redisUrl } = await place.fresh()
  const config = signerConfig(t, url, redisUrl ? { REDIS_URL: redisUrl } : {})
  const parties = slowParties()
  const stop = new AbortController()
  const kernels = ['dispatcher', 'signer'].map((name) => composeKernel(config, name))
  const [dispatcher, signer] = kernels as [Kernel, Kernel]
  const works = [
    await startDispatcher(dispatcher, stop.signal),
    await startSigner(signer, stop.signal, {
      mpc: { open: async () => holdJointKeys(signer, parties.coordinator) },
    }),
  ]
  t.after(async () => {
    stop.abort()
    parties.release()
    await Promise.all(works.map(({ drain }) => drain()))
    await Promise.all(kernels.map((kernel) => kernel.close()))
  })
  await beatAs(pool, ALL_ALIVE)
  return { pool, parties, ...useCases(signer) }
}

function useCases(kernel: Kernel) {
  const ctx = createApiContext(kernel)
  const { pool } = kernel
  const metadata = (tenantId: string) => ({ tenantId, actor: 'test' })
  const done = async (text: string, ids: readonly string[]) =>
    Number((await pool.query<{ n: string }>(text, [ids])).rows[0]?.n)
  return {
    askWallet: async (tenantId: string, mpc: typeof QUICK | null) =>
      (await requestWallet(ctx, hdRequest({ type: mpc ? 'mpc' : 'hd', mpc }), { metadata: metadata(tenantId) })).id,
    async askSignature(tenantId: string, walletId: string, text: string) {
      const wanted = { type: 'message', text, encoding: 'utf8' } as const
      return (await requestSignature(ctx, { environment: 'mainnet', walletId, wanted }, metadata(tenantId))).id
    },
    active: (ids: readonly string[]) =>
      done(`SELECT count(*) AS n FROM wallets WHERE wallet_id = ANY ($1) AND status = 'active'`, ids),
    signed: (ids: readonly string[]) =>
      done('SELECT count(*) AS n FROM signatures WHERE signature_id = ANY ($1) AND signature IS NOT NULL', ids),
  }
}

const times = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

/** The job layer with turns, like the dispatcher's. */
function openTurns(t: Test, where: Where) {
  const jobs = openJobs(t, where)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const log = { info: () => undefined, warn: () => undefined }
  return { jobs, turns: takeTurns({ jobs, limits: QUEUE_LIMITS, signal: stop.signal, log }) }
}

const jobOf = (queue: QueueName, tenant: string, n: number): Job => ({
  queue,
  id: `${tenant}-${n}`,
  data: { tenant_id: tenant, lane: `${tenant}-${n}` },
})
const crowdOf = (queue: QueueName, count: number) => Array.from({ length: count }, (_, n) => jobOf(queue, 'acme', n))

type Scene = { readonly queue: QueueName; readonly backlog: number; readonly fails?: boolean }

const HANDLERS = 4
/** More than a window of the queue. */
const WALLETS = 48
const SIGNATURES = 100

/** How many jobs of acme begin between the time when globex adds its job and the time when that begins. */
async function countAhead(t: Test, where: Where, { queue, backlog, fails = false }: Scene): Promise<number> {
  const { jobs, turns } = openTurns(t, where)
  const begun: string[] = []
  await turns.add(crowdOf(queue, backlog))
  let addedAfter = 0
  jobs.process(
    queue,
    async ({ tenant_id: tenant = '' }) => {
      begun.push(tenant)
      if (begun.length === 10) {
        await turns.add([jobOf(queue, 'globex', 0)])
        addedAfter = begun.length
      }
      if (fails && tenant === 'acme') throw new Error('the node is away')
    },
    { concurrency: HANDLERS },
  )
  await eventually(() => begun.includes('globex'))
  await eventually(async () => new Set(begun).size === 2 && begun.length > backlog)
  return begun.indexOf('globex') - addedAfter
}

async function jobsInTurn(t: Test, place: JobPlace): Promise<void> {
  for (const queue of ['wallet', 'mpc-signature'] as const) {
    await t.test(`${queue}: a tenant's job is among the next, however many of another tenant wait`, async (t) => {
      const { window, atOnce } = QUEUE_LIMITS[queue]
      const ahead = await countAhead(t, await place.fresh(), { queue, backlog: 200 })
      t.ok(ahead <= (atOnce ?? window) + HANDLERS + 1, `at most a window of jobs runs first: ${ahead}`)
    })
  }
  await t.test("a tenant's job is among the next while the jobs of another tenant fail again and again", async (t) => {
    const { window, failing } = QUEUE_LIMITS.wallet
    const ahead = await countAhead(t, await place.fresh(), { queue: 'wallet', backlog: 600, fails: true })
    t.ok(ahead <= 2 * window + failing + HANDLERS + 1, `at most two windows of attempts run first: ${ahead}`)
  })
}

async function walletsInTurn(t: Test, place: JobPlace): Promise<void> {
  await t.test("mpc wallets of a tenant do not hold up another's hd and mpc wallets", async (t) => {
    const service = await withProcesses(t, place)
    service.parties.hold()
    const crowd = await times(WALLETS, () => service.askWallet('acme', SLOW))
    await eventually(() => service.parties.waiting() > 0)
    const others = [await service.askWallet('globex', null), await service.askWallet('globex', QUICK)]
    await eventually(async () => (await service.active(others)) === 2)
    t.equal(await service.active(crowd), 0, 'no wallet of the other tenant is made first')
    t.ok(service.parties.most() <= 3, 'at most 3 wallets are made at a time')
    service.parties.release()
    await eventually(async () => (await service.active(crowd)) === WALLETS)
  })
}

async function signaturesInTurn(t: Test, place: JobPlace): Promise<void> {
  await t.test("mpc signatures of a tenant do not hold up another's hd and mpc signatures", async (t) => {
    const service = await withProcesses(t, place)
    const wallets = [
      await service.askWallet('acme', SLOW),
      await service.askWallet('globex', null),
      await service.askWallet('globex', QUICK),
    ] as const
    await eventually(async () => (await service.active(wallets)) === 3)
    const [slow, hd, mpc] = wallets
    service.parties.hold()
    const crowd = await times(SIGNATURES, (n) => service.askSignature('acme', slow, `message ${n}`))
    await eventually(() => service.parties.waiting() > 0)
    const others = [
      await service.askSignature('globex', hd, 'hello'),
      await service.askSignature('globex', mpc, 'hello'),
    ]
    await eventually(async () => (await service.signed(others)) === 2)
    t.equal(await service.signed(crowd), 0, 'no signature of the other tenant is made first')
    t.ok(service.parties.most() <= 8, 'at most 8 signatures are made at a time')
    service.parties.release()
    await eventually(async () => (await service.signed(crowd)) === SIGNATURES)
  })
}

await inEveryPlace(t, async (t, place) => {
  await jobsInTurn(t, place)
  if (place.name === 'Redis Cluster') return // The processes do the same there.
  await walletsInTurn(t, place)
  await signaturesInTurn(t, place)
})
