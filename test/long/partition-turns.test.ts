/**
 * What one chain or one tenant does, or suffers, does not delay the others: their waits for a hash are compared with
 * those of a run without it.
 */
import t, { type Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { createWallet, type LoadWallet, RECIPIENT } from '../support/load.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type ApiClient, createApiClient } from '../support/service-api.ts'
import { type LocalService, withLocalService } from '../support/service-local.ts'
import { type NodeProxy, withNodeProxy } from '../support/service-node-proxy.ts'

const CHAIN_ID = 1000001
const OTHER_CHAIN_ID = 1000137
const FUNDS_WEI = 10n ** 21n
/** Waits that are compared: transfers of each lane, one after the other. */
const TRANSFERS = 6
/** The others may wait this much longer: a wide margin, for a machine that does other things too. */
const RATIO = 3
/** A node that does not answer is given up after this time. */
const SLOW_MS = 10_000

const env = {
  RPC_TIMEOUT_MS: String(SLOW_MS),
  SIGN_WAIT_MS: '60000',
  LEASE_MS: '10000',
  SWEEP_INTERVAL_MS: '3000',
  POLYGON_CHAIN_ID: String(OTHER_CHAIN_ID),
}

type Sender = { readonly api: ApiClient; readonly wallet: LoadWallet }

let asked = 0

/** Sends one transfer. Returns how long its hash took, ms. */
async function timed({ api, wallet }: Sender): Promise<number> {
  asked += 1
  const since = performance.now()
  const reply = await api.insist({
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key: `turn-${asked}`,
    body: { to: RECIPIENT, amount: '0.0001', asset: wallet.network === 'polygon' ? 'POL' : 'ETH' },
  })
  if (reply.body.data?.hash === null || reply.body.data?.hash === undefined)
    throw new Error(`no hash: ${reply.status} ${JSON.stringify(reply.body)}`)
  return performance.now() - since
}

type Waits = { readonly most: number; readonly longest: number }

/** The wait that nine of ten transfers of these lanes do not exceed, and the longest; each lane sends one after the other. */
async function waitOf(senders: readonly Sender[]): Promise<Waits> {
  const waits = await Promise.all(
    senders.map(async (sender) => {
      const own: number[] = []
      for (let n = 0; n < TRANSFERS; n += 1) own.push(await timed(sender))
      return own
    }),
  )
  const sorted = waits.flat().sort((a, b) => a - b)
  return { most: sorted[Math.floor(sorted.length * 0.9)] ?? 0, longest: sorted.at(-1) ?? 0 }
}

function mustNotGrow(t: Test, what: string, alone: Waits, beside: Waits): void {
  const text = ({ most, longest }: Waits) => `${Math.round(most)} ms, the longest ${Math.round(longest)} ms`
  t.comment(`${what}: nine of ten wait ${text(alone)} alone; ${text(beside)} beside it`)
  t.ok(beside.most <= RATIO * alone.most, `${what}: the others wait no longer`)
  t.ok(beside.longest < SLOW_MS / 2, `${what}: nobody waits for it`)
}

/** Funds wallets, and mines until the service has seen it. */
async function fund({ pool }: LocalService, url: string, wallets: readonly LoadWallet[]): Promise<void> {
  const [owner] = (await callRpc(url, 'eth_accounts')) as string[]
  await callRpc(url, 'anvil_setBalance', [owner, toQuantity(10n ** 27n)])
  for (const { address } of wallets)
    await callRpc(url, 'eth_sendTransaction', [{ from: owner, to: address, value: toQuantity(FUNDS_WEI) }])
  await eventually(async () => {
    await callRpc(url, 'evm_mine')
    const { rowCount } = await pool.query('SELECT FROM balances WHERE wallet_id = ANY($1) AND balance = $2', [
      wallets.map(({ id }) => id),
      FUNDS_WEI.toString(),
    ])
    return rowCount === wallets.length
  })
}

async function withTwoChains(t: Test): Promise<{
  readonly service: LocalService
  readonly nodes: readonly [NodeProxy, NodeProxy]
  readonly urls: readonly [string, string]
}> {
  const { url: databaseUrl } = await withDatabase(t)
  const [first, second] = await Promise.all([
    withAnvil(t, { chainId: CHAIN_ID, mining: 'call' }),
    withAnvil(t, { chainId: OTHER_CHAIN_ID, mining: 'call' }),
  ])
  const nodes = [await withNodeProxy(t, first.url), await withNodeProxy(t, second.url)] as const
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: first.url,
    chainId: CHAIN_ID,
    rpcUrls: [nodes[0].url],
    env: { ...env, POLYGON_RPC_URLS: nodes[1].url, POLYGON_CONFIRMATIONS: '2', POLYGON_POLL_INTERVAL_MS: '500' },
  })
  return { service, nodes, urls: [first.url, second.url] }
}

t.test('a node that answers after 10 s delays no other chain', async (t) => {
  const { service, nodes, urls } = await withTwoChains(t)
  const [, other] = nodes
  const wallets = await service.makeWallets(24)
  const others = wallets.map((wallet) => ({ api: service.api, wallet }))
  const far = await Promise.all(Array.from({ length: 24 }, (_, n) => createWallet(service.api, 'polygon', `far-${n}`)))
  await fund(service, urls[1], far)
  await waitOf(others) // Everything is compiled, read and connected.
  const alone = await waitOf(others)

  other.decide = () => ({ type: 'silence before' })
  const away = far.map((wallet) => timed({ api: service.api, wallet }).catch(() => 0))
  const isAsked = () => [...other.asked.values()].reduce((sum, n) => sum + n, 0)
  const before = isAsked()
  await eventually(() => isAsked() > before)
  mustNotGrow(t, 'a chain of 24 lanes', alone, await waitOf(others))
  other.decide = () => ({ type: 'pass' })
  await Promise.all(away)
})

const TENANTS = 10
const LANES_OF_TENANT = 10
const FLOOD = 2_000

t.test('a tenant that floods its lanes delays no lane of another tenant', async (t) => {
  const { url: databaseUrl } = await withDatabase(t)
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: url,
    chainId: CHAIN_ID,
    env: { ...env, MAX_IN_FLIGHT_PER_LANE: '4000' },
  })
  const issue = createIssueApiKey(service.kernel)
  const tenants = await Promise.all(
    Array.from({ length: TENANTS }, async (_, n) => {
      const { token } = await issue({ tenantId: `tenant-${n}`, environment: 'mainnet' }, { actor: 'operator' })
      const api = createApiClient({ baseUrl: service.baseUrl, apiKey: token })
      const wallets = Array.from({ length: LANES_OF_TENANT }, (_, lane) =>
        createWallet(api, 'ethereum', `lane-${lane}`),
      )
      return (await Promise.all(wallets)).map((wallet) => ({ api, wallet }))
    }),
  )
  await fund(
    service,
    url,
    tenants.flat().map(({ wallet }) => wallet),
  )
  const [flooding = [], ...rest] = tenants
  const others = rest.map(([first]) => first as Sender)
  await waitOf(others)
  // A new signer each time: its first rounds take longer.
  await service.stopWorker('signer')
  await service.startWorker('signer')
  const alone = await waitOf(others)
  await service.stopWorker('signer')
  await Promise.all(
    flooding.map(async ({ api, wallet }) => {
      for (let n = 0; n < FLOOD / LANES_OF_TENANT; n += 1)
        await api.insist({
          method: 'POST',
          path: `/v1/wallets/${wallet.id}/transfer`,
          key: `flood-${wallet.id}-${n}`,
          prefer: 'respond-async',
          body: { to: RECIPIENT, amount: '0.0001', asset: 'ETH' },
        })
    }),
  )
  const waiting = async () =>
    Number((await service.pool.query("SELECT count(*) AS n FROM transactions WHERE state = 'requested'")).rows[0].n)
  t.equal(await waiting(), FLOOD)
  await service.startWorker('signer')
  await eventually(async () => (await waiting()) < FLOOD)
  const beside = await waitOf(others)
  t.comment(`${await waiting()} of the flood waited at the end`)
  mustNotGrow(t, 'a flooding tenant', alone, beside)
})

t.end()
