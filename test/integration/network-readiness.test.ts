/** One network that cannot be followed: the others are served, and readiness, metrics and refusals name the cause. */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import type { ReplyBody } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withLocalService } from '../support/service-local.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'

const CHAIN_ID = 1000001
const POLYGON_ID = 1000137

type Ready = { readonly degraded: boolean; readonly checks: readonly { name: string; ok: boolean }[] }

function isFollowed(ready: Ready | undefined): boolean | undefined {
  return ready?.checks.find(({ name }) => name === 'chain:polygon')?.ok
}

/** The service on two networks, the second one behind a node that may lie. */
async function withTwoNetworks(t: Test) {
  const { url: databaseUrl } = await withDatabase(t)
  const { url: chainUrl } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const { url: polygonUrl } = await withAnvil(t, { chainId: POLYGON_ID, mining: 'call' })
  const node = await withNodeProxy(t, polygonUrl)
  const env = {
    POLYGON_RPC_URLS: node.url,
    POLYGON_CHAIN_ID: String(POLYGON_ID),
    POLYGON_CONFIRMATIONS: '2',
    POLYGON_POLL_INTERVAL_MS: '100',
  }
  const service = await withLocalService(t, { databaseUrl, chainUrl, chainId: CHAIN_ID, env })
  const { api, pool, baseUrl } = service
  const ready = async () => {
    const { status, body } = await api.once({ path: '/readyz' })
    return { status, data: body.data as Ready | undefined }
  }
  return {
    service,
    node,
    ready,
    post: (path: string, body: object): Promise<{ status: number; body: ReplyBody }> =>
      api.once({ method: 'POST', path, body, key: randomUUID() }),
    metrics: async () => (await fetch(`${baseUrl}/metrics`)).text(),
    mine: () => callRpc(polygonUrl, 'evm_mine'),
    /** As if the recorded stall had begun two minutes earlier. */
    age: async () => (await pool.query(`UPDATE chain_stalls SET since = now() - interval '2 minutes'`)).rowCount === 1,
    untilPolygon: (ok: boolean) => eventually(async () => isFollowed((await ready()).data) === ok),
  }
}

t.test('a node whose blocks lead nowhere is named, and only requests that need its network are refused', async (t) => {
  const { service, node, post, age, ready, metrics, mine, untilPolygon } = await withTwoNetworks(t)
  const [funded] = await service.makeWallets(1)
  if (funded === undefined) throw new Error('one wallet was made')
  const { body } = await post('/v1/wallets/create', { type: 'hd', network: 'polygon' })
  const { wallet_id: polygon } = body.data as { wallet_id: string }
  await untilPolygon(true)

  node.decide = () => ({
    type: 'answer',
    method: 'eth_getBlockByNumber',
    answer: { result: null },
    only: ({ params }) => params[0] !== 'latest',
  })
  await mine()
  await eventually(age)
  await untilPolygon(false)
  const { status, data } = await ready()
  t.equal(status, 200, 'the API serves the other network')
  t.equal(data?.degraded, true)
  t.match(
    data?.checks.find(({ name }) => name === 'chain:polygon'),
    { ok: false, why: /the follower has not moved for 1\d\d s: the node has no block \d+, although its newest one is/ },
  )
  t.match(
    data?.checks.find(({ name }) => name === 'chain:ethereum'),
    { ok: true },
  )
  t.match(await metrics(), /bursar_chain_stalled_seconds\{[^}]*chain_id="1000137"[^}]*\} 1\d\d/)

  const transfer = (wallet: string, asset: string) =>
    post(`/v1/wallets/${wallet}/transfer`, { to: funded.address, amount: '0.1', asset })
  await eventually(async () => (await transfer(polygon, 'POL')).status === 503)
  matchExactly(t, (await transfer(polygon, 'POL')).body.errors, [
    { type: 'unavailable', code: 'network_unavailable', message: /polygon \(mainnet\).*the node has no block/ },
  ])
  t.equal((await transfer(funded.id, 'ETH')).status, 202, 'the other network is served')
  t.equal((await service.api.once({ path: `/v1/wallets/${polygon}` })).status, 200, 'reads are served')

  node.decide = () => ({ type: 'pass' })
  await untilPolygon(true)
  await eventually(async () => (await transfer(polygon, 'POL')).body.errors?.[0]?.code === 'insufficient_funds')
  t.notMatch(await metrics(), /bursar_chain_stalled_seconds\{[^}]*1000137/)
})

t.test('a node that refuses to name its blocks is named with what it answered', async (t) => {
  const { node, age, ready, mine, untilPolygon } = await withTwoNetworks(t)
  await untilPolygon(true)
  const answer = { error: { code: -32000, message: 'pruned history unavailable' } }
  node.decide = () => ({ type: 'answer', method: 'eth_getBlockByNumber', answer })
  await mine()
  await eventually(age)
  await untilPolygon(false)
  const { status, data } = await ready()
  t.equal(status, 200)
  t.match(
    data?.checks.find(({ name }) => name === 'chain:polygon'),
    { ok: false, why: /refused eth_getBlockByNumber: pruned history unavailable/ },
  )
})
