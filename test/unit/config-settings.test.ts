/** The configuration: what is read, what is refused and with which message. */
import { join } from 'node:path'
import t from 'tap'
import { loadConfig, SETTINGS } from '../../src/compose/load-config.ts'
import type { Environ } from '../../src/config.ts'
import { PRODUCTION, problemsOf } from '../support/config.ts'
import { matchExactly } from '../support/match-exactly.ts'

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

t.test('an empty environment is the sandbox on its defaults', async (t) => {
  const config = loadConfig({})
  t.equal(config.sandbox, true)
  t.equal(config.databaseUrl, null)
  t.equal(config.redisUrl, null)
  t.same(config.api, { host: '127.0.0.1', port: 3_000 })
  t.equal(config.metricsPort, null)
  t.same(config.http, {
    bodyLimitBytes: 1_048_576,
    rateLimitPerSecond: 100,
    logRequests: true,
    sandbox: true,
    trustedProxies: [],
    serveMetrics: true,
    connections: {
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 72_000,
      max: 4_000,
      maxPerAddress: 1_000,
      maxRequests: 10_000,
    },
  })
  t.same(config.keystore, { kind: 'directory', directory: join(process.cwd(), '.data', 'keystore'), key: null })
  t.same(config.chains, [])
  t.match(config.mpc, { parties: 3, threshold: 2, poolSize: 4, refreshIntervalDays: 30, addresses: null, party: null })
  t.equal(config.ipfs, null)
  t.equal(config.metadataBaseUrl, null)
  t.same(config.warnings, [])
})

t.test('quotas have limits, and a tenant may have its own', async (t) => {
  const { quotasOf } = loadConfig({
    QUOTA_ASSETS: '7',
    QUOTA_OVERRIDES: 'acme:assets=0,acme:wallets=9, globex:wallets=1',
  })
  t.match(quotasOf('initech'), { assets: 7, wallets: 100_000, ceremonies: 1_000 })
  t.match(quotasOf('acme'), { assets: 0, wallets: 9, ceremonies: 1_000 })
  t.match(quotasOf('globex'), { assets: 7, wallets: 1 })
  for (const overrides of ['acme', 'acme:walets=1', 'acme:wallets=-1', 'Acme:wallets=1', 'acme:wallets=1e9'])
    matchExactly(t, problemsOf({ QUOTA_OVERRIDES: overrides }), [
      /^QUOTA_OVERRIDES must be a comma-separated list of tenant:quota=limit/,
    ])
  matchExactly(t, problemsOf({ QUOTA_WALLETS: '-1' }), [/^QUOTA_WALLETS must be a whole number from 0 to/])
})

t.test('a database makes it production, and each chain with nodes gets the defaults of its network', async (t) => {
  const config = loadConfig({ ...PRODUCTION, BINANCE_TESTNET_RPC_URLS: 'http://bsc.example', PORT: '0' })
  t.equal(config.sandbox, false)
  t.equal(config.api.port, 0)
  const [ethereum, binance, ...rest] = config.chains
  t.same(rest, [])
  matchExactly(t, ethereum, {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1,
    rpcUrls: ['https://one.example/v3/secret1', 'https://two.example/v3/secret2'],
    confirmations: 32,
    minTipWei: 100_000_000n,
    maxTipWei: 20_000_000_000n,
    maxFeePerGasWei: 500_000_000_000n,
    pollIntervalMs: 3_000,
    multicall3Address: '0xcA11bde05977b3631167028862bE2a173976CA11',
  })
  t.ok(ethereum?.tokens.some(({ symbol, address }) => symbol === 'USDC' && address === USDC))
  t.match(binance, { network: 'binance', environment: 'testnet', chainId: 97, confirmations: 12 })
})

t.test('with a separate metrics port the port of the API does not serve metrics', async (t) => {
  const { metricsPort, http } = loadConfig({ METRICS_PORT: '9464' })
  t.strictSame([metricsPort, http.serveMetrics], [9_464, false])
})

t.test('a trusted proxy is an address, a range or the name of ranges', async (t) => {
  const good = ['10.0.0.0/8', '::1', 'fd00::/8', 'loopback', 'uniquelocal']
  t.strictSame(loadConfig({ TRUSTED_PROXIES: good.join(',') }).http.trustedProxies, good)
  for (const bad of ['999.0.0.1', '10.0.0.0/33', 'fd00::/129', ':::', '1.2.3']) {
    t.strictSame(problemsOf({ TRUSTED_PROXIES: `127.0.0.1,${bad}` }), [
      `TRUSTED_PROXIES must be a comma-separated list of addresses or CIDR ranges, such as 10.0.0.0/8, not "${bad}"`,
    ])
  }
})

t.test('a private chain in the place of a public one knows none of its contracts', async (t) => {
  const [chain] = loadConfig({
    SANDBOX: 'true',
    DATABASE_URL: 'postgres://localhost/bursar',
    POLYGON_RPC_URLS: 'http://127.0.0.1:8545',
    POLYGON_CHAIN_ID: '1000137',
    POLYGON_CONFIRMATIONS: '2',
    POLYGON_TOKENS: `USDC:${USDC.toLowerCase()}:6`,
    POLYGON_MIN_TIP_WEI: '1',
  }).chains
  t.match(chain, { chainId: 1_000_137, confirmations: 2, multicall3Address: null, priceFeeds: {}, minTipWei: 1n })
  t.same(chain?.tokens, [{ symbol: 'USDC', address: USDC, decimals: 6 }], 'the address is written with its checksum')
})

t.test('settings of contracts take the place of the public ones', async (t) => {
  const [chain] = loadConfig({
    ...PRODUCTION,
    ETHEREUM_PRICE_FEEDS: `ETH=${USDC},`,
    ETHEREUM_TOKENS: '',
    ETHEREUM_MULTICALL3_ADDRESS: USDC,
  }).chains
  t.same(chain?.priceFeeds, { ETH: USDC })
  t.equal(chain?.multicall3Address, USDC)
  t.ok((chain?.tokens.length ?? 0) > 1, 'an empty setting is an unset setting')
})

t.test('a bad setting is refused in one line that names it, its rule and its value', async (t) => {
  const cases: [Environ, string][] = [
    [{ PORT: '70000' }, 'PORT must be a whole number from 0 to 65535, not "70000"'],
    [{ PORT: '3e3' }, 'PORT must be a whole number from 0 to 65535, not "3e3"'],
    [{ PORT: '-1' }, 'PORT must be a whole number from 0 to 65535, not "-1"'],
    [{ LOG_REQUESTS: 'yes' }, 'LOG_REQUESTS must be true or false, not "yes"'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent, not "loud"'],
    [
      { TRUSTED_PROXIES: '10.0.0.0/8,example.com' },
      'TRUSTED_PROXIES must be a comma-separated list of addresses or CIDR ranges, such as 10.0.0.0/8, not "10.0.0.0/8,example.com"',
    ],
    [{ ETHEREUM_MIN_TIP_WEI: '1.5' }, 'ETHEREUM_MIN_TIP_WEI must be a whole number of wei, not "1.5"'],
    [
      { POLYGON_TESTNET_TOKENS: 'USDC=0x1' },
      'POLYGON_TESTNET_TOKENS must be a comma-separated list of SYMBOL:0xaddress:decimals, not "USDC=0x1"',
    ],
    [
      { BINANCE_PRICE_FEEDS: 'x'.repeat(200) },
      `BINANCE_PRICE_FEEDS must be a comma-separated list of SYMBOL=0xaddress, not "${'x'.repeat(80)}…"`,
    ],
    [{ IPFS_API_AUTHORIZATION: 'Bearer abc' }, 'IPFS_API_URL must be set if IPFS_API_AUTHORIZATION is set'],
    [
      { IPFS_API_URL: 'http://kubo:99999' },
      'IPFS_API_URL must be an http:// or https:// URL without user name and password, such as http://127.0.0.1:5001',
    ],
    [
      { ETHEREUM_RPC_URLS: 'https://one.example' },
      'DATABASE_URL must be set if ETHEREUM_RPC_URLS is set: the sandbox only uses local chains',
    ],
    [{ MPC_PARTIES: '1' }, 'MPC_PARTIES must be 0, or a whole number from 2 to 20, not "1"'],
    [{ MPC_PARTIES: '21' }, 'MPC_PARTIES must be 0, or a whole number from 2 to 20, not "21"'],
    [{ MPC_THRESHOLD: '1' }, 'MPC_THRESHOLD must be a whole number from 2 to 20, not "1"'],
    [{ MPC_THRESHOLD: '4' }, 'MPC_THRESHOLD must be at most MPC_PARTIES, which is 3, not 4'],
    [{ MPC_PARTIES: '4' }, 'MPC_THRESHOLD must be more than half of MPC_PARTIES, which is 4, not 2'],
    [
      { MPC_PARTIES: '6', MPC_THRESHOLD: '3' },
      'MPC_THRESHOLD must be more than half of MPC_PARTIES, which is 6, not 3',
    ],
    [{ MPC_POOL_SIZE: '-1' }, 'MPC_POOL_SIZE must be a whole number from 0 to 100, not "-1"'],
    [{ KEYSTORE: 'postgres' }, 'KEYSTORE_KEY must be set if KEYSTORE is postgres: every signer needs the same key'],
    [
      { ...PRODUCTION, POLYGON_RPC_URLS: 'http://p.example', POLYGON_CHAIN_ID: '1' },
      'POLYGON_CHAIN_ID must differ from that of every other chain, not 1',
    ],
    [
      { ...PRODUCTION, ETHEREUM_CHAIN_ID: '2147483648' },
      'ETHEREUM_CHAIN_ID must be a whole number from 1 to 2147483647, not "2147483648"',
    ],
    [
      { ...PRODUCTION, ETHEREUM_MAX_FEE_PER_GAS_WEI: '10' },
      'ETHEREUM_MIN_TIP_WEI must be at most MAX_FEE_PER_GAS_WEI, not 100000000',
    ],
    [{ ...PRODUCTION, ETHEREUM_MAX_TIP_WEI: '10' }, 'ETHEREUM_MIN_TIP_WEI must be at most MAX_TIP_WEI, not 100000000'],
  ]
  for (const [env, line] of cases) t.same(problemsOf(env), [line])
})

t.test('an address whose checksum is wrong is refused by the name of its setting', async (t) => {
  const [line] = problemsOf({ ...PRODUCTION, ETHEREUM_MULTICALL3_ADDRESS: USDC.replace('A0b', 'a0b') })
  t.match(line, /^ETHEREUM_MULTICALL3_ADDRESS .*checksum/)
})

t.test('every invalid setting is reported, one per line', async (t) => {
  t.same(
    problemsOf({ PORT: 'x', LEASE_MS: '1', ETHEREUM_TESTNET_CONFIRMATIONS: '0' }).map((line) => line.split(' ')[0]),
    ['PORT', 'LEASE_MS', 'ETHEREUM_TESTNET_CONFIRMATIONS'],
  )
  t.throws(() => loadConfig({ PORT: 'x', LEASE_MS: '1' }), { name: 'ConfigError', message: /^PORT .*\nLEASE_MS .*$/ })
})

t.test('a name like a misspelt setting is reported with the closest setting', async (t) => {
  const env = {
    ETHEREUM_RPC_URL: 'https://one.example',
    POLYGON_GAS_STATION: 'x',
    RATELIMIT_PER_SECOND: '5',
    PATH: '/bin',
    HOSTNAME: 'box',
    LOGNAME: 'me',
    XDG_DATA_DIRS: '/usr/share',
    NODE_OPTIONS: '',
  }
  t.same(loadConfig(env).warnings, [
    'ETHEREUM_RPC_URL is not a known setting: did you mean ETHEREUM_RPC_URLS?',
    'POLYGON_GAS_STATION is not a known setting',
    'RATELIMIT_PER_SECOND is not a known setting: did you mean RATE_LIMIT_PER_SECOND?',
  ])
})

t.test('every setting has a type, a default and a description, and secrets are marked', async (t) => {
  for (const { name, type, description, ...setting } of SETTINGS) {
    t.match(name, /^(<NET>_)?[A-Z][A-Z0-9_]+$/)
    t.ok(type.length > 3 && !type.startsWith('must'), `${name} has a type`)
    t.match(description, /^.{15,}\.$/, `${name} is described in a sentence`)
    t.ok(setting.default.length > 0, `${name} has a default or says that it is unset`)
  }
  t.same(
    SETTINGS.filter(({ secret }) => secret).map(({ name }) => name),
    [
      'DATABASE_URL',
      'DATABASE_LOGINS',
      'REDIS_URL',
      'KEYSTORE_KEY',
      'TRANSACTION_TAG_KEY',
      'MPC_PARTY_KEY',
      'SWAP_API_KEY',
      'WEBHOOK_IDENTITY',
      'IPFS_API_URL',
      'IPFS_API_AUTHORIZATION',
      '<NET>_RPC_URLS',
      '<NET>_SWAP_RPC_URLS',
    ],
  )
})

t.test('a default that the table shows is one that the reader would take', async (t) => {
  const shown = Object.fromEntries(
    SETTINGS.filter((row) => row.default !== 'unset' && !row.name.startsWith('<NET>')).map((row) => [
      row.name,
      row.default,
    ]),
  )
  t.same(loadConfig(shown), loadConfig({}))
})

t.test('mpc wallets are turned off by having no parties, and shares may become any age', async (t) => {
  t.equal(loadConfig({ MPC_PARTIES: '0', MPC_THRESHOLD: '5' }).mpc, null)
  for (const [threshold, parties] of [
    [2, 2],
    [2, 3],
    [3, 4],
    [3, 5],
  ])
    t.match(loadConfig({ MPC_PARTIES: `${parties}`, MPC_THRESHOLD: `${threshold}` }).mpc, { parties, threshold })
  const terms = { MPC_PARTIES: '5', MPC_THRESHOLD: '3', MPC_POOL_SIZE: '0', MPC_REFRESH_INTERVAL_DAYS: '0' }
  t.match(loadConfig(terms).mpc, { parties: 5, threshold: 3, poolSize: 0, refreshIntervalDays: null })
})

t.test('an IPFS node is a URL with an optional authorization header', async (t) => {
  t.same(loadConfig({ IPFS_API_URL: 'http://127.0.0.1:5001' }).ipfs, {
    url: 'http://127.0.0.1:5001',
    authorization: null,
  })
  const guarded = { IPFS_API_URL: 'https://kubo.example/ipfs/', IPFS_API_AUTHORIZATION: 'Basic dXNlcjpwYXNz' }
  t.same(loadConfig(guarded).ipfs, { url: 'https://kubo.example/ipfs/', authorization: 'Basic dXNlcjpwYXNz' })
  for (const url of ['kubo:5001', 'ftp://kubo', 'http://', 'http://kubo/?a=1', 'http://a b'])
    t.equal(problemsOf({ IPFS_API_URL: url }).length, 1, url)
  for (const value of ['abc', 'Bearer a b', 'Bearer \u00e9'])
    t.equal(problemsOf({ ...guarded, IPFS_API_AUTHORIZATION: value }).length, 1, value)
})

t.test('the base of metadata addresses ends with a slash and is reached by TLS, but on this machine', async (t) => {
  for (const url of ['https://a.example/', 'https://a.example:8443/m/1/', 'http://localhost:3000/v1/nft/metadata/'])
    t.equal(loadConfig({ METADATA_BASE_URL: url }).metadataBaseUrl, url)
  const bad = ['https://a.example', 'https://a.example/m', 'http://a.example/', 'http://localhost.evil.example/']
  for (const url of [...bad, 'ipfs://', 'https://a.example/?a=/', `https://a.example/${'a'.repeat(200)}/`]) {
    matchExactly(t, problemsOf({ METADATA_BASE_URL: url }), [
      /^METADATA_BASE_URL must be an https:\/\/ URL that ends with \/ and has at most 200 characters/,
    ])
  }
})
