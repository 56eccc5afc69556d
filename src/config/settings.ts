/**
 * Every setting with its type, default and description. docs/settings.md and the validation are generated from this.
 */
import { Type } from '@sinclair/typebox'
import { LOG_LEVELS } from '../logging.ts'
import { AUDIT_SETTINGS } from './audit.ts'
import { DATABASE_SETTINGS } from './database.ts'
import { HTTP_SETTINGS } from './http.ts'
import { MPC_SETTINGS } from './mpc.ts'
import { QUOTA_SETTINGS } from './quotas.ts'
import { ruleOf } from './read-setting.ts'
import { list, milliseconds, text, word } from './schema-kinds.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Settings of the whole installation. */
export const GENERAL_SETTINGS = {
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3_000,
    description: 'Port of the API; 0 takes a free one.',
  }),
  HOST: Type.String({ default: '127.0.0.1', description: 'Address that the API listens on; `0.0.0.0` for all.' }),
  METRICS_PORT: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port where a process serves `/metrics`, `/healthz` and `/readyz`. The API serves the last two on `PORT` as well, and `/metrics` unless this is set.',
    }),
  ),
  ...DATABASE_SETTINGS,
  REDIS_URL: text('^rediss?(\\+cluster)?://.+', 'must be a URL such as redis://host:6379', {
    description: 'Redis 6.2 or later for the queues. Without it they live in PostgreSQL.',
    'x-secret': true,
  }),
  DATA_DIR: Type.String({
    minLength: 1,
    default: '.data',
    description: 'Where the sandbox and the keystore keep their files.',
  }),
  SANDBOX: Type.Optional(
    Type.Boolean({ description: 'Marks the chains as local ones. Set by the sandbox for what it starts.' }),
  ),
  LOG_LEVEL: word(LOG_LEVELS, { default: 'info', description: 'The least level that is logged.' }),
  LOG_REQUESTS: Type.Boolean({ default: true, description: 'One line for each request, at level `info`.' }),
  ...HTTP_SETTINGS,
  ...QUOTA_SETTINGS,
  SIGN_WAIT_MS: milliseconds(
    { minimum: 0, maximum: MINUTE, default: 2 * SECOND },
    'How long a transfer waits to be signed before it is answered without a hash.',
  ),
  SHUTDOWN_GRACE_MS: milliseconds(
    { minimum: 0, maximum: 10 * MINUTE, default: 25 * SECOND },
    'How long a process may take to stop; then it ends at once.',
  ),
  KEYSTORE: word(['directory', 'postgres'], {
    default: 'directory',
    description: 'Where sealed keys lie: `postgres` when signers run on several machines.',
  }),
  KEYSTORE_DIR: Type.Optional(
    Type.String({ minLength: 1, description: 'Directory of the keystore; `$DATA_DIR/keystore` unless set.' }),
  ),
  KEYSTORE_KEY: text('^[A-Za-z0-9+/]{43}=$', 'must be 32 bytes in base64: make one with openssl rand -base64 32', {
    description:
      'The key that seals all others. Without it one is made on first start and kept in the keystore directory.',
    'x-secret': true,
  }),
  ...MPC_SETTINGS,
  EXPORT_RECIPIENTS: list(
    '^age1[02-9ac-hj-np-z]{58}$',
    'must be a comma list of age X25519 recipients, as age-keygen prints them',
    {
      description:
        'The only recipients to which keys of wallets are exported. Unset, exports are off; the sandbox takes any recipient. Set it at the API and the signers.',
    },
  ),
  ...AUDIT_SETTINGS,
  RPC_TIMEOUT_MS: milliseconds(
    { minimum: 100, maximum: 2 * MINUTE, default: 10 * SECOND },
    'How long a node may take to answer.',
  ),
  RPC_BATCH_MAX_CALLS: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description: 'Requests in one JSON-RPC batch; fewer where a node refuses so many.',
  }),
  RPC_BATCH_MAX_BYTES: Type.Integer({
    minimum: 10_000,
    maximum: 10_000_000,
    default: 500_000,
    description: 'Size of one JSON-RPC batch, unless a single request is larger; most providers take 1 MB.',
  }),
  MAX_IN_FLIGHT_PER_LANE: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 64,
    description: 'Signed transactions of one address that may be unmined at once; nodes drop more.',
  }),
  REPLACE_AFTER_MS: milliseconds(
    { minimum: SECOND, maximum: 60 * MINUTE, default: 2 * MINUTE },
    'When a transaction that is not mined is sent again with a higher fee.',
  ),
  REBROADCAST_AFTER_MS: milliseconds(
    { minimum: SECOND, maximum: 60 * MINUTE, default: 30 * SECOND },
    'When the same bytes are sent to the nodes again.',
  ),
  SWEEP_INTERVAL_MS: milliseconds(
    { minimum: 100, maximum: 10 * MINUTE, default: 10 * SECOND },
    'How often unfinished work is looked for and queued again.',
  ),
  RECONCILE_INTERVAL_MS: milliseconds(
    { minimum: SECOND, maximum: 24 * 60 * MINUTE, default: 45 * SECOND },
    'The pause between two comparisons of all balances with a chain, which find money that left no log.',
  ),
  LEASE_MS: milliseconds(
    { minimum: SECOND, maximum: 5 * MINUTE, default: 10 * SECOND },
    'How long a process that died keeps a lane or a leadership from others.',
  ),
  IPFS_API_URL: text(
    '^https?://[^\\s/?#@"]+(/[^\\s?#@"]*)?$',
    'must be an http:// or https:// URL without user name and password, such as http://127.0.0.1:5001',
    { description: 'RPC API of a Kubo node: NFT metadata is pinned there before it is minted.', 'x-secret': true },
  ),
  IPFS_API_AUTHORIZATION: text('^[!-~]+ [!-~]+$', 'must be the value of an Authorization header, such as Bearer abc', {
    description: 'Sent to `IPFS_API_URL`, for a node behind a proxy that asks for it.',
    'x-secret': true,
  }),
  METADATA_BASE_URL: text(
    '^(https://[^\\s/?#@"]+|http://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?)/([^\\s?#@"]*/)?$',
    'must be an https:// URL that ends with / and has at most 200 characters; http:// for localhost alone',
    {
      description:
        'What stands before the CID in a `metadata_uri`, such as `https://wallets.example/v1/nft/metadata/`; without it `ipfs://`.',
      maxLength: 200,
    },
  ),
}

/**
 * Settings of one chain: `<NET>` is `ETHEREUM`, `POLYGON` or `BINANCE`, with the suffix `_TESTNET` for its test
 * network.
 */
export const CHAIN_SETTINGS = {
  RPC_URLS: list('^(https?)://.+', 'must be a comma list of http:// or https:// URLs', {
    description: 'Nodes of the chain, in order of preference. A chain without them is not configured.',
    'x-secret': true,
  }),
  CHAIN_ID: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2 ** 31 - 1,
      description: 'For a private chain in the place of the public one. Nothing is then known of its contracts.',
      'x-default': 'of the public chain',
    }),
  ),
  CONFIRMATIONS: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'Blocks, its own included, until a transaction counts as final.',
      'x-default': '32, 30, 15; 12 on test networks',
    }),
  ),
  MIN_TIP_WEI: text('^[0-9]{1,30}$', 'must be a whole number of wei', {
    description: 'The least tip per gas that the nodes of the chain take.',
    'x-default': '100000000, 25000000000, 50000000',
  }),
  MAX_FEE_PER_GAS_WEI: text('^[1-9][0-9]{0,29}$', 'must be a whole number of wei, at least 1', {
    description: 'The hard cap: nothing is signed above it.',
    'x-default': '500, 5000, 100 gwei',
  }),
  POLL_INTERVAL_MS: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: MINUTE,
      description: 'How often a new block is asked for. In milliseconds.',
      'x-default': '3000, 1000, 750',
    }),
  ),
  MULTICALL3_ADDRESS: text('^0x[0-9a-fA-F]{40}$', 'must be an address', {
    description: 'The Multicall3 contract, for reading many balances at once.',
    'x-default': 'the public one',
  }),
  PRICE_FEEDS: list('^[A-Za-z0-9.]{1,20}=0x[0-9a-fA-F]{40}$', 'must be a comma list of SYMBOL=0xaddress', {
    description: 'Chainlink feeds in US dollars, `SYMBOL=0xaddress`. They take the place of the public ones.',
    'x-default': 'public feeds',
  }),
  TOKENS: list(
    '^[A-Za-z0-9.]{1,20}:0x[0-9a-fA-F]{40}:[0-9]{1,2}$',
    'must be a comma list of SYMBOL:0xaddress:decimals',
    {
      description:
        'ERC-20 contracts known by symbol, `SYMBOL:0xaddress:decimals`. They take the place of the public ones.',
      'x-default': 'well-known tokens',
    },
  ),
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
export const SETTINGS: readonly Setting[] = [
  ...Object.entries(GENERAL_SETTINGS).map(([name, schema]) => row(name, schema)),
  ...Object.entries(CHAIN_SETTINGS).map(([name, schema]) => row(`<NET>_${name}`, schema)),
]

function row(name: string, schema: Readonly<Record<string, unknown>>): Setting {
  return {
    name,
    type: ruleOf(schema).replace(/^must be /, ''),
    default: String(schema['x-default'] ?? schema.default ?? 'unset'),
    description: String(schema.description),
    ...(schema['x-secret'] === true ? { secret: true } : {}),
  }
}
