/** A chain whose node does not answer delays no other: the waits for a hash are compared with those of a run without it. */
import t, { type Test } from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { createTimer, mustNotGrow } from '../support/hash-waits.ts'
import { createWallet, type LoadWallet } from '../support/load.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
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
  const others = wallets.map((wallet) => ({ api: service.api, wallets: [wallet] }))
  const { waitsOf, send } = createTimer()
  const far = await Promise.all(Array.from({ length: 24 }, (_, n) => createWallet(service.api, 'polygon', `far-${n}`)))
  await fund(service, urls[1], far)
  await waitsOf(others, TRANSFERS) // Everything is compiled, read and connected.
  const alone = await waitsOf(others, TRANSFERS)

  other.decide = () => ({ type: 'silence before' })
  const away = far.map((wallet) => send(service.api, wallet).catch(() => 0))
  const isAsked = () => [...other.asked.values()].reduce((sum, n) => sum + n, 0)
  const before = isAsked()
  await eventually(() => isAsked() > before)
  const beside = await waitsOf(others, TRANSFERS)
  mustNotGrow(t, 'a chain of 24 lanes', { alone, beside, ratio: RATIO, mostMs: SLOW_MS / 2 })
  other.decide = () => ({ type: 'pass' })
  await Promise.all(away)
})

t.end()
