/** Assets over HTTP, on a real PostgreSQL and a real chain: what is registered is what its contract says, and who sees it. */
import { readFile } from 'node:fs/promises'
import { AbiCoder } from 'ethers/abi'
import t, { type Test } from 'tap'
import { createAssetBooks } from '../../src/assets/asset-books.ts'
import { createDescribeAsset } from '../../src/assets/describe-asset.ts'
import { createListAssets } from '../../src/assets/list-assets.ts'
import { createRegisterAsset } from '../../src/assets/register-asset.ts'
import { createResolveAsset } from '../../src/assets/resolve-asset.ts'
import { assetRoutes } from '../../src/assets/routes.ts'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import type { ChainSettings } from '../../src/chain/settings.ts'
import type { BursarError } from '../../src/core/errors.ts'
import { createFindReplay } from '../../src/event-log/find-replay.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { sendMined, withAnvil } from '../support/anvil.ts'
import { type Answer, KEYS, startTestApp } from '../support/http.ts'
import { withLog } from '../support/log.ts'

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const RICH = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const DAI = '0x6B175474E89094C44Da98b954EedeAC495271d0F'

function settings(network: 'ethereum' | 'polygon', chainId: number, url: string): ChainSettings {
  return {
    network,
    environment: 'mainnet',
    chainId,
    rpcUrls: [url],
    confirmations: 2,
    minTipWei: 1n,
    maxFeePerGasWei: 10n ** 12n,
    pollIntervalMs: 20,
    multicall3Address: null,
    priceFeeds: {},
    tokens: [{ symbol: 'DAI', address: DAI, decimals: 18 }],
  }
}

/** A chain on which tokens can be deployed, and a second one whose node is away. */
async function withAssets(t: Test) {
  const { pool, log } = await withLog(t)
  const anvil = await withAnvil(t, { mining: 'each' })
  const ethereum = settings('ethereum', 1000001, anvil.url)
  const polygon = { ...settings('polygon', 1000137, `http://127.0.0.1:${await freePort()}`), tokens: [] }
  const chains = createChainClients({ chains: [ethereum, polygon], timeoutMs: 2_000, now: Date.now, log: SILENT })
  t.after(() => chains.close())
  const compose = () => {
    const books = createAssetBooks(pool)
    return {
      resolve: createResolveAsset(books),
      describe: createDescribeAsset(books),
      routes: assetRoutes({
        chainsOf: (environment) =>
          chains.all.map((chain) => chain.settings).filter((chain) => chain.environment === environment),
        chainOf: (key) => chains.get(key).settings,
        listAssets: createListAssets({ pool, books }),
        registerAsset: createRegisterAsset({
          log,
          books,
          findReplay: createFindReplay(pool),
          rpcOf: (chainId) => {
            const chain = chains.byChainId(chainId)
            if (chain === undefined) throw new Error('the chain is configured')
            return chain.client
          },
        }),
      }),
    }
  }
  const { routes, ...rest } = compose()
  const { send } = await startTestApp({ routes })
  return {
    ...rest,
    pool,
    log,
    ethereum,
    another: compose,
    deploy: (symbol: string, decimals: number) => deploy(anvil.url, symbol, decimals),
    register: (body: object, headers = {}) => send({ method: 'POST', url: '/v1/assets', payload: body, headers }),
    list: (query = '', headers = {}) => send({ method: 'GET', url: `/v1/assets${query}`, headers }),
  }
}

async function deploy(url: string, symbol: string, decimals: number): Promise<string> {
  const file = new URL('../../src/contracts/artifacts/DemoToken.json', import.meta.url)
  const { bytecode } = JSON.parse(await readFile(file, 'utf8')) as { bytecode: string }
  const args = AbiCoder.defaultAbiCoder().encode(
    ['string', 'string', 'uint8', 'address'],
    [`${symbol} Coin`, symbol, decimals, RICH],
  )
  const { contractAddress } = await sendMined(url, { from: RICH, data: bytecode + args.slice(2) })
  return toChecksumAddress(contractAddress ?? '')
}

function assetsOf(answer: Answer) {
  return answer.body.data as { assets: Record<string, unknown>[]; next_cursor: string | null; has_more: boolean }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

t.test(
  'a registered token is what its contract says, and can be named at once by its tenant alone',
  async (t: Test) => {
    const assets = await withAssets(t)
    const contract_address = await assets.deploy('WBTC', 8)
    const answer = await assets.register({ network: 'ethereum', contract_address: contract_address.toLowerCase() })
    t.equal(answer.status, 201)
    const asset = {
      asset_id: `eip155:1000001/erc20:${contract_address}`,
      symbol: 'WBTC',
      name: 'WBTC Coin',
      decimals: 8,
      contract_address,
      network: 'ethereum',
      environment: 'mainnet',
      price_usd: null,
      price_at: null,
    }
    t.strictSame(answer.body.data, asset)
    const known = { assetId: asset.asset_id, decimals: 8, contract: contract_address }
    t.match(await assets.resolve('acme', assets.ethereum, 'wbtc'), known)
    t.match(await assets.describe('acme', assets.ethereum, asset.asset_id), known)
    t.equal(await codeOf(assets.resolve('globex', assets.ethereum, 'WBTC')), 'unknown_asset')
    t.equal(await assets.describe('globex', assets.ethereum, asset.asset_id), null)
    t.strictSame(assetsOf(await assets.list()).assets.at(2), asset)
    t.notOk((await assets.list('', { authorization: `Bearer ${KEYS.cold}` })).text.includes('WBTC'))
  },
)

t.test('what one process registered, another one that remembers older assets finds', async (t: Test) => {
  const assets = await withAssets(t)
  const other = assets.another()
  t.equal(await codeOf(other.resolve('acme', assets.ethereum, 'WBTC')), 'unknown_asset')
  await assets.register({ network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) })
  t.match(await other.resolve('acme', assets.ethereum, 'WBTC'), { decimals: 8 })
})

t.test('a token is registered once, by however many requests at the same instant', async (t: Test) => {
  const assets = await withAssets(t)
  const body = { network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) }
  const answers = await Promise.all(Array.from({ length: 8 }, () => assets.register(body)))
  for (const answer of answers) t.match(answer.body.data, { symbol: 'WBTC' })
  t.equal((await assets.register(body)).status, 200)
  const { rows } = await assets.pool.query(`SELECT FROM events WHERE type = 'AssetRegistered'`)
  t.equal(rows.length, 1)
  const configured = await assets.register({ network: 'ethereum', contract_address: DAI })
  t.equal(configured.status, 200, 'a configured token is known already')
  t.match(configured.body.data, { symbol: 'DAI', decimals: 18, price_usd: null })
  await assets.pool.query(`INSERT INTO prices VALUES (1000001, 'DAI', 1.01, now())`)
  t.match((await assets.register({ network: 'ethereum', contract_address: DAI })).body.data, { price_usd: '1.01' })
})

t.test('the same idempotency key gives the same token, and another body under it is refused', async (t: Test) => {
  const assets = await withAssets(t)
  const headers = { 'idempotency-key': 'k1' }
  const body = { network: 'ethereum', contract_address: await assets.deploy('WBTC', 8) }
  t.equal((await assets.register(body, headers)).status, 201)
  const replay = await assets.register(body, headers)
  t.equal(replay.status, 201)
  t.equal(replay.headers['idempotency-replayed'], 'true')
  t.match((await assets.register({ ...body, contract_address: DAI }, headers)).body.errors, [
    { code: 'idempotency_key_reused' },
  ])
})

t.test('what is no token is refused, and a node that is away is told apart from that', async (t: Test) => {
  const assets = await withAssets(t)
  const refusals: [body: object, status: number, item: object][] = [
    [{ network: 'ethereum', contract_address: RICH }, 422, { code: 'not_a_token', field: 'contract_address' }],
    [
      { network: 'ethereum', contract_address: DAI.replace('B17', 'b17') },
      422,
      { code: 'bad_checksum', field: 'contract_address' },
    ],
    [{ network: 'ethereum', contract_address: '0x1' }, 422, { code: 'invalid_address', field: 'contract_address' }],
    [{ network: 'ethereum' }, 422, { code: 'required', field: 'contract_address' }],
    [{ network: 'ethereum', contract_address: RICH, symbol: 'X' }, 422, { code: 'unknown_field', field: 'symbol' }],
    [{ network: 'ethereum', environment: 'testnet', contract_address: RICH }, 403, { code: 'environment_mismatch' }],
    [
      { network: 'binance', contract_address: RICH },
      422,
      { code: 'network_not_configured', message: /BINANCE_RPC_URLS/ },
    ],
    [{ network: 'polygon', contract_address: RICH }, 503, { type: 'unavailable' }],
  ]
  for (const [body, status, item] of refusals) {
    const answer = await assets.register(body)
    t.equal(answer.status, status, JSON.stringify(body))
    t.match(answer.body.errors, [item])
  }
  const { rows } = await assets.pool.query('SELECT FROM events')
  t.equal(rows.length, 0)
})

t.test('two contracts of one symbol must be told apart by address', async (t: Test) => {
  const assets = await withAssets(t)
  const impostor = await assets.deploy('DAI', 2)
  await assets.register({ network: 'ethereum', contract_address: impostor })
  t.equal(await codeOf(assets.resolve('acme', assets.ethereum, 'DAI')), 'ambiguous_asset')
  t.match(await assets.resolve('acme', assets.ethereum, impostor), { decimals: 2 })
  t.match(await assets.resolve('globex', assets.ethereum, 'DAI'), { contract: DAI })
})

t.test(
  'a price is that of the network currency or a configured token, never of what somebody deployed',
  async (t: Test) => {
    const assets = await withAssets(t)
    await assets.register({ network: 'ethereum', contract_address: await assets.deploy('DAI', 2) })
    await assets.pool.query(
      `INSERT INTO prices VALUES (1000001, 'ETH', 3012.5, '2026-01-01T00:00:00Z'), (1000001, 'DAI', 0.9998, '2026-01-01T00:00:01Z')`,
    )
    const { assets: listed } = assetsOf(await assets.list('?network=ethereum'))
    t.match(listed, [
      { symbol: 'ETH', contract_address: null, price_usd: '3012.5', price_at: '2026-01-01T00:00:00.000Z' },
      { symbol: 'DAI', contract_address: DAI, price_usd: '0.9998' },
      { symbol: 'DAI', decimals: 2, price_usd: null, price_at: null },
    ])
  },
)

t.test('the list goes network by network, page after page', async (t: Test) => {
  const assets = await withAssets(t)
  const symbols = async (query: string) => assetsOf(await assets.list(query)).assets.map(({ symbol }) => symbol)
  t.strictSame(await symbols(''), ['ETH', 'DAI', 'POL'])
  t.strictSame(await symbols('?network=polygon'), ['POL'])
  const first = assetsOf(await assets.list('?limit=2'))
  t.equal(first.has_more, true)
  t.strictSame(await symbols(`?limit=2&cursor=${first.next_cursor}`), ['POL'])
  t.match(assetsOf(await assets.list(`?limit=2&cursor=${first.next_cursor}`)), { has_more: false, next_cursor: null })
  for (const query of ['?cursor=x', `?network=polygon&cursor=${first.next_cursor}`]) {
    t.match((await assets.list(query)).body.errors, [{ code: 'invalid_cursor', field: 'cursor' }])
  }
  t.match((await assets.list('?network=binance')).body.errors, [{ code: 'network_not_configured' }])
})
