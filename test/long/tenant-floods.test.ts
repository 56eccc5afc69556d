/**
 * 1,000 lanes of 50 tenants, and one of the tenants floods: what the others wait for their hashes, beside it and without it.
 * Signer, submitter and dispatcher are processes of their own.
 *
 * `BURSAR_FLOOD_LANES=1000 BURSAR_OTHER_LANES=20` before `npm run test:long -- tenant-floods` has all the lanes.
 */
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { auditChain } from '../support/chain-audit.ts'
import { createClient } from '../support/client.ts'
import { createTimer, mustNotGrow, type Sender, summary } from '../support/hash-waits.ts'
import { createWallet, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { mineUntilSettled } from '../support/load-settle.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withLocalService } from '../support/service-local.ts'
import { prepareVictim, type Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const CHAIN_ID = 1000001
const TENANTS = 50
/** Of each of the others. */
const OTHER_LANES = Number(process.env.BURSAR_OTHER_LANES ?? 2)
const FLOOD_LANES = Number(process.env.BURSAR_FLOOD_LANES ?? 200)
/** In all lanes of the flood: longer than the others are measured. */
const FLOOD = 5_000
/** Of each other tenant, one after the other. */
const ROUNDS = 8
/** Measured on a machine that the flood fills: a wide margin. In the engine alone it is 1.3 (`jobs-drain-floods`). */
const RATIO = 10
const FUNDS_WEI = 10n ** 20n
const KINDS = ['dispatcher', 'submitter', 'signer'] as const

const { url: databaseUrl } = await withDatabase(t)
const { url } = await withAnvil(t, { chainId: CHAIN_ID }) // A block a second: without, one block would hold all transactions.
const env = { SIGN_WAIT_MS: '60000', LEASE_MS: '10000', SWEEP_INTERVAL_MS: '10000' }
const service = await withLocalService(t, { databaseUrl, chainUrl: url, chainId: CHAIN_ID, env })
const { kernel, pool, baseUrl } = service

async function fund(wallets: readonly LoadWallet[]): Promise<void> {
  const [owner] = (await callRpc(url, 'eth_accounts')) as string[]
  await callRpc(url, 'anvil_setBalance', [owner, toQuantity(10n ** 27n)])
  for (const { address } of wallets)
    await callRpc(url, 'eth_sendTransaction', [{ from: owner, to: address, value: toQuantity(FUNDS_WEI) }])
  await eventually(async () => {
    await callRpc(url, 'evm_mine')
    const { rows } = await pool.query<{ n: number }>('SELECT count(*)::integer AS n FROM balances WHERE balance = $1', [
      FUNDS_WEI.toString(),
    ])
    return rows[0]?.n === wallets.length
  })
}

async function tenantOf(n: number, lanes: number): Promise<Sender> {
  const { token } = await createIssueApiKey(kernel)(
    { tenantId: `tenant-${n}`, environment: 'mainnet' },
    { actor: 'operator' },
  )
  const api = createClient(baseUrl, token)
  const wallets: LoadWallet[] = []
  while (wallets.length < lanes) {
    const some = Array.from({ length: Math.min(20, lanes - wallets.length) }, (_, index) =>
      createWallet(api, 'ethereum', `lane-${wallets.length + index}`),
    )
    wallets.push(...(await Promise.all(some)))
  }
  return { api, wallets }
}

async function start(kind: (typeof KINDS)[number]): Promise<Victim> {
  const victim = prepareVictim(kind, service.env)
  t.after(victim.kill)
  await victim.start()
  return victim
}

async function stop({ pid, ended }: Victim): Promise<void> {
  process.kill(pid, 'SIGTERM')
  await within('it stops', ended)
}

const waiting = async (): Promise<number> =>
  (await pool.query("SELECT count(*)::integer AS n FROM transactions WHERE state = 'requested'")).rows[0].n

t.test(`${FLOOD_LANES} lanes of one tenant beside ${OTHER_LANES * (TENANTS - 1)} of 49 others`, async (t) => {
  const others: Sender[] = []
  for (let n = 1; n < TENANTS; n += 1) others.push(await tenantOf(n, OTHER_LANES))
  const flooding = await tenantOf(0, FLOOD_LANES)
  const wallets = [flooding, ...others].flatMap((tenant) => tenant.wallets)
  await fund(wallets)
  for (const kind of KINDS) await service.stopWorker(kind)
  let signer: Victim | null = null
  for (const kind of KINDS) signer = await start(kind)

  const { waitsOf, answers } = createTimer()
  /** Each other tenant sends, again and again while `isOn`. */
  async function measure(isOn: () => Promise<boolean> = async () => true): Promise<number[]> {
    const waits: number[] = []
    for (let round = 0; round < ROUNDS && (await isOn()); round += 1) waits.push(...(await waitsOf(others, 1)))
    return waits
  }
  await measure()
  const before = await measure()
  await stop(signer as Victim)
  const load = { wallets: flooding.wallets, count: FLOOD, firstNumber: 0, spreadMs: 0, tokens: 0, impatient: 0 }
  const flood = await sendTransfers(flooding.api, planTransfers(createRandom(1), load))
  t.equal(await waiting(), FLOOD)
  signer = await start('signer')
  await eventually(async () => (await waiting()) < FLOOD)
  const beside = await measure(async () => (await waiting()) > 0)
  t.ok(beside.length >= 2 * others.length, `${beside.length / others.length} rounds beside the flood`)
  await eventually(async () => (await waiting()) === 0)
  const alone = [...before, ...(await measure())]
  mustNotGrow(t, 'a tenant that floods', { alone, beside, ratio: RATIO })
  t.comment(`the p99 is ${(summary(beside).p99 / summary(alone).p99).toFixed(2)} times that without it`)

  await mineUntilSettled(() => service.places, url)
  const audit = await auditChain({ places: service.places, wallets, answers: [...flood, ...answers] })
  const accepted = flood.length + answers.length
  matchExactly(t, audit, { problems: [], accepted, once: accepted, lost: 0, doubled: 0 })
})

t.end()
