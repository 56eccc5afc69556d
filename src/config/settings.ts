/**
 * Every setting with its type, default and description: those that no capability declares, and the list of all. docs/settings.md and the
 * validation are generated from this.
 */
import { Type } from '@sinclair/typebox'
import { LOG_LEVELS } from '../logging.ts'
import { DATABASE_SETTINGS } from './database.ts'
import type { DeclaredSettings, Schemas } from './declare-settings.ts'
import { HTTP_SETTINGS } from './http.ts'
import { ruleOf } from './read-setting.ts'
import { list, milliseconds, text, word } from './schema-kinds.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const FIRST_SETTINGS = {
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3_000,
    description: 'Port of the API. 0 uses a free port.',
  }),
  HOST: Type.String({
    default: '127.0.0.1',
    description: 'Address that the API listens on. `0.0.0.0` means all addresses.',
  }),
  METRICS_PORT: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port on which a process serves `/metrics`, `/healthz` and `/readyz`. The API also serves `/healthz` and `/readyz` on `PORT`, and `/metrics` too if this is not set and `HOST` is a loopback address.',
    }),
  ),
  METRICS_ON_API_PORT: Type.Boolean({
    default: false,
    description:
      'Whether the API serves `/metrics` on `PORT`, without a key, also if `HOST` is not a loopback address. Not with `METRICS_PORT`.',
  }),
  ...DATABASE_SETTINGS,
  REDIS_URL: text('^rediss?(\\+cluster)?://.+', 'must be a URL such as redis://host:6379', {
    description: 'URL of Redis 6.2 or later for the queues. If it is not set, the queues are in PostgreSQL.',
    'x-secret': true,
  }),
  DATA_DIR: Type.String({
    minLength: 1,
    default: '.data',
    description: 'Directory for the files of the sandbox and the keystore.',
  }),
  SANDBOX: Type.Optional(
    Type.Boolean({
      description: 'Marks the chains as local chains. The sandbox sets it for the processes that it starts.',
    }),
  ),
  SANDBOX_HARDFORK: Type.Optional(
    text('^[a-z0-9]+$', 'must be the name of a fork such as prague', {
      description:
        'Rules of the chains of the sandbox, by the name that anvil has for them. If it is not set, the newest ones that it has.',
    }),
  ),
  LOG_LEVEL: word(LOG_LEVELS, { default: 'info', description: 'The lowest level that is logged.' }),
  LOG_REQUESTS: Type.Boolean({ default: true, description: 'Whether each request is logged, at level `info`.' }),
  ...HTTP_SETTINGS,
}

const KEY_SETTINGS = {
  SIGN_WAIT_MS: milliseconds(
    { minimum: 0, maximum: MINUTE, default: 2 * SECOND },
    'How long the response to a transfer waits for the hash. After that it is sent without one.',
  ),
  SHUTDOWN_GRACE_MS: milliseconds(
    { minimum: 0, maximum: 10 * MINUTE, default: 25 * SECOND },
    'Maximum time for a shutdown. After that the process exits immediately.',
  ),
  KEYSTORE: word(['directory', 'postgres'], {
    default: 'directory',
    description:
      'Where encrypted keys are stored: in a directory or in PostgreSQL. Use `postgres` if signers run on several machines.',
  }),
  KEYSTORE_DIR: Type.Optional(
    Type.String({ minLength: 1, description: 'Directory of the keystore. The default is `$DATA_DIR/keystore`.' }),
  ),
  KEYSTORE_KEY: text('^[A-Za-z0-9+/]{43}=$', 'must be 32 bytes in base64: create one with openssl rand -base64 32', {
    description:
      'The key that encrypts all other keys. If it is not set, the first start creates one in the keystore directory.',
    'x-secret': true,
  }),
  TRANSACTION_TAG_KEY: list(
    '^[A-Za-z0-9+/]{43}=$',
    'must be 32 bytes in base64, or several separated by commas: create one with openssl rand -base64 32',
    {
      description:
        'Signers and mpc parties: the key by which a signed transaction is recognised on chain after the database has lost it. All of them need the same. Several keys are separated by commas: the first one tags, all are recognised.',
      'x-secret': true,
    },
  ),
}

const WORK_SETTINGS = {
  RPC_TIMEOUT_MS: milliseconds(
    { minimum: 100, maximum: 2 * MINUTE, default: 10 * SECOND },
    'Timeout of a request to a node.',
  ),
  RPC_BATCH_MAX_CALLS: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description:
      'Maximum number of requests in a JSON-RPC batch. It is reduced for nodes that refuse batches of this size.',
  }),
  RPC_BATCH_MAX_BYTES: Type.Integer({
    minimum: 10_000,
    maximum: 10_000_000,
    default: 500_000,
    description:
      'Maximum size of a JSON-RPC batch in bytes, unless a single request is larger. Most providers accept 1 MB.',
  }),
  MAX_IN_FLIGHT_PER_LANE: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 64,
    description:
      'Maximum number of signed but unmined transactions of one address. Nodes drop transactions above their own limit.',
  }),
  REPLACE_AFTER_MS: milliseconds(
    { minimum: SECOND, maximum: 60 * MINUTE, default: 2 * MINUTE },
    'Time after which an unmined transaction is sent again with a higher fee.',
  ),
  REBROADCAST_AFTER_MS: milliseconds(
    { minimum: SECOND, maximum: 60 * MINUTE, default: 30 * SECOND },
    'Time after which an unmined transaction is sent to the nodes again without a change.',
  ),
  SWEEP_INTERVAL_MS: milliseconds(
    { minimum: 100, maximum: 10 * MINUTE, default: 10 * SECOND },
    'How often unfinished work is searched for and queued again. While there is none and nothing happens, a quarter as often.',
  ),
  RECONCILE_INTERVAL_MS: milliseconds(
    { minimum: SECOND, maximum: 24 * 60 * MINUTE, default: 45 * SECOND },
    'Pause between two comparisons of all balances with the chain. They find transfers that left no log on chain.',
  ),
  LEASE_MS: milliseconds(
    { minimum: SECOND, maximum: 5 * MINUTE, default: 10 * SECOND },
    'Duration of a lease. After a process dies, another process can take over its lanes and its leadership when the lease expires.',
  ),
}

/** Those of the whole installation that no capability declares. */
export const GENERAL_SETTINGS = { ...FIRST_SETTINGS, ...KEY_SETTINGS, ...WORK_SETTINGS }

/** Settings of the whole installation, in display order. */
export function generalSettings(declared: readonly DeclaredSettings[]): Schemas {
  const of = (group: DeclaredSettings['group']) =>
    Object.assign({}, ...declared.filter((each) => each.group === group).map(({ settings }) => settings)) as Schemas
  return { ...FIRST_SETTINGS, ...of('limits'), ...KEY_SETTINGS, ...of('keys'), ...WORK_SETTINGS, ...of('last') }
}

/**
 * Settings of one chain that no capability declares: `<NET>` is `ETHEREUM`, `POLYGON` or `BINANCE`, with the suffix `_TESTNET` for its test
 * network.
 */
const CHAIN_SETTINGS = {
  RPC_URLS: list('^(https?)://.+', 'must be a comma-separated list of http:// or https:// URLs', {
    description: 'URLs of nodes of the chain, in order of preference. A chain without URLs is not available.',
    'x-secret': true,
  }),
  RPC_QUORUM: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description:
        'How many nodes must say the same before anything settles, is credited or frees a nonce. URLs of one host count once. Silent nodes count as configured.',
      'x-default': 'more than half of the hosts of `RPC_URLS`',
    }),
  ),
  CHAIN_ID: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2 ** 31 - 1,
      description:
        'Chain id of a private chain that replaces the public one. The default contracts of the public chain do not apply to it.',
      'x-default': 'of the public chain',
    }),
  ),
  CONFIRMATIONS: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'Number of blocks, including its own, after which a transaction is final.',
      'x-default': '32, 30, 15; 12 on test networks',
    }),
  ),
  MIN_TIP_WEI: text('^[0-9]{1,30}$', 'must be a whole number of wei', {
    description: 'Minimum tip per gas in wei that the nodes of the chain accept.',
    'x-default': '100000000, 25000000000, 50000000',
  }),
  MAX_TIP_WEI: text('^[0-9]{1,30}$', 'must be a whole number of wei', {
    description:
      'Maximum tip per gas in wei, whatever nodes say that others paid: what a wrong answer can cost. A network that asks for more for hours needs a higher one.',
    'x-default': '20, 500, 20 gwei',
  }),
  MAX_FEE_PER_GAS_WEI: text('^[1-9][0-9]{0,29}$', 'must be a whole number of wei, at least 1', {
    description: 'Maximum fee per gas in wei. Nothing is signed above it.',
    'x-default': '500, 5000, 100 gwei',
  }),
  POLL_INTERVAL_MS: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: MINUTE,
      description:
        'How often nodes are polled for a new block. In milliseconds. At most every 2 s while nothing happens in the service.',
      'x-default': '3000, 1000, 750',
    }),
  ),
  MULTICALL3_ADDRESS: text('^0x[0-9a-fA-F]{40}$', 'must be an address', {
    description: 'Address of the Multicall3 contract, which reads many balances in one call.',
    'x-default': 'the public contract',
  }),
  PRICE_FEEDS: list('^[A-Za-z0-9.]{1,20}=0x[0-9a-fA-F]{40}$', 'must be a comma-separated list of SYMBOL=0xaddress', {
    description: 'Chainlink price feeds in US dollars, which replace the default ones: `SYMBOL=0xaddress`.',
    'x-default': 'public feeds',
  }),
  TOKENS: list(
    '^[A-Za-z0-9.]{1,20}:0x[0-9a-fA-F]{40}:[0-9]{1,2}$',
    'must be a comma-separated list of SYMBOL:0xaddress:decimals',
    {
      description:
        'ERC-20 tokens that can be named by symbol, which replace the default ones: `SYMBOL:0xaddress:decimals`.',
      'x-default': 'well-known tokens',
    },
  ),
}

/** Settings of one chain, in display order. */
export function settingsOfChains(declared: readonly DeclaredSettings[]): Schemas {
  return Object.assign({}, CHAIN_SETTINGS, ...declared.map(({ chainSettings = {} }) => chainSettings)) as Schemas
}

/** A row of the table of settings. */
export type Setting = {
  readonly name: string
  /** The rule of its value, as text. */
  readonly type: string
  /** As text; `unset` when there is none. */
  readonly default: string
  readonly description: string
  /** Its value is never shown. */
  readonly secret?: boolean
}

/** All settings in display order; those of a chain once, with `<NET>` in the name. */
export function settingRows(declared: readonly DeclaredSettings[]): readonly Setting[] {
  return [
    ...Object.entries(generalSettings(declared)).map(([name, schema]) => row(name, schema)),
    ...Object.entries(settingsOfChains(declared)).map(([name, schema]) => row(`<NET>_${name}`, schema)),
  ]
}

function row(name: string, schema: Readonly<Record<string, unknown>>): Setting {
  return {
    name,
    type: ruleOf(schema).replace(/^must be /, ''),
    default: String(schema['x-default'] ?? schema.default ?? 'unset'),
    description: String(schema.description),
    ...(schema['x-secret'] === true ? { secret: true } : {}),
  }
}
