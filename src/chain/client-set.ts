/** The configured chains, each with its RPC client and its fee oracle; one set per process. */
import { ValidationFailed } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'
import { type BlockTraces, createBlockTraces } from './block-traces.ts'
import { type CodeLookup, createCodeLookup } from './code.ts'
import { createExistsFinally, type ExistsFinally } from './existence.ts'
import { createFeeOracle, type FeeOracle } from './fee-oracle.ts'
import { createForkWatch, type ForkWatch } from './fork-watch.ts'
import type { RpcReader } from './json-rpc.ts'
import { createMulticallCheck, type MulticallCheck } from './multicall-check.ts'
import { createRelays, type Relays } from './relays.ts'
import { createRpcClient, type RpcClient } from './rpc-client.ts'
import type { RpcLog, RpcObservation } from './rpc-endpoint.ts'
import type { ChainSettings, RpcBatchLimits } from './settings.ts'

/** Fees change with each block; no supported network needs a shorter interval. */
const FEE_REFRESH_MS = 2_000

/**
 * Response limit for reads of contracts that tenants name. Answers are words and short texts; a batch of 5,000 balances
 * is 700 kB.
 */
const FOREIGN_RESPONSE_BYTES = 1024 * 1024
const FOREIGN_TIMEOUT_MS = 5_000
/** A trace of a full block of ethereum has about 10 MB. */
const TRACE_RESPONSE_BYTES = 64 * 1024 * 1024

/** The doubled base fee of a quote covers six full blocks: 72 s on Ethereum. */
const FEE_MAX_STALE_MS = 60_000

export type ChainClient = {
  readonly settings: ChainSettings
  /** What one node says by it is a hint. */
  readonly client: RpcClient
  /** What a quorum of the nodes says alike: for all that moves money or is told. */
  readonly agreed: RpcReader
  /**
   * As `agreed`, for reads that run code of contracts that tenants name. It has its own connections, circuits and limits, so
   * such a contract cannot stop reads of blocks and native balances or submissions.
   */
  readonly foreign: RpcReader
  readonly close: () => void
  /** Get the bytes of swaps instead of the nodes; null where none is configured. */
  readonly relays: Relays | null
  readonly fees: FeeOracle
  readonly code: CodeLookup
  readonly exists: ExistsFinally
  readonly forks: ForkWatch
  /** What one node shows by it is a hint. With connections, circuits and limits of its own: a slow trace stops nothing else. */
  readonly traces: BlockTraces
  readonly multicall: MulticallCheck
}

export type ChainClients = {
  readonly all: readonly ChainClient[]
  readonly find: (key: ChainKey) => ChainClient | undefined
  readonly byChainId: (chainId: number) => ChainClient | undefined
  /** @throws ValidationFailed `network_not_configured`, with the name of the setting */
  readonly get: (key: ChainKey) => ChainClient
  readonly close: () => void
}

export function createChainClients(options: {
  readonly chains: readonly ChainSettings[]
  /** For one HTTP exchange with one URL. */
  readonly timeoutMs: number
  readonly batch?: RpcBatchLimits
  /** A clock, ms. */
  readonly now: () => number
  readonly log: RpcLog
  readonly onExchange?: (chain: ChainSettings, observation: RpcObservation) => void
}): ChainClients {
  const all = options.chains.map((settings) => createChainClient(settings, options))
  const find = (key: ChainKey): ChainClient | undefined =>
    all.find(({ settings }) => settings.network === key.network && settings.environment === key.environment)
  return {
    all,
    find,
    byChainId: (chainId) => all.find(({ settings }) => settings.chainId === chainId),
    get: (key) => {
      const chain = find(key)
      if (chain !== undefined) return chain
      throw ValidationFailed.field(
        'network',
        'network_not_configured',
        `${key.network} (${key.environment}) is not configured: set ${rpcSetting(key)}.`,
      )
    },
    close: () => {
      for (const { close } of all) close()
    },
  }
}

/** The name of the setting that holds a chain's RPC URLs. */
function rpcSetting(key: ChainKey): string {
  return `${key.network.toUpperCase()}${key.environment === 'testnet' ? '_TESTNET' : ''}_RPC_URLS`
}

function createChainClient(settings: ChainSettings, options: Parameters<typeof createChainClients>[0]): ChainClient {
  const { now, timeoutMs, onExchange } = options
  const shared = {
    urls: settings.rpcUrls,
    ...(settings.rpcQuorum === undefined ? {} : { quorum: settings.rpcQuorum }),
    chainId: settings.chainId,
    now,
    log: options.log,
    ...(options.batch ? { batch: options.batch } : {}),
    ...(onExchange ? { onExchange: (observation: RpcObservation) => onExchange(settings, observation) } : {}),
  }
  const client = createRpcClient({ ...shared, timeoutMs })
  const strangers = createRpcClient({
    ...shared,
    timeoutMs: Math.min(timeoutMs, FOREIGN_TIMEOUT_MS),
    maxResponseBytes: FOREIGN_RESPONSE_BYTES,
    blamesTimeouts: false,
    head: client.head,
  })
  const tracers = createRpcClient({
    ...shared,
    timeoutMs,
    maxResponseBytes: TRACE_RESPONSE_BYTES,
    blamesTimeouts: false,
    head: client.head,
  })
  const { network, environment } = settings
  const onRefused = (host: string, reason: string): void =>
    options.log.warn({ network, environment, host, reason }, 'a node did not trace a block; will ask it again later')
  const { agreed } = client
  const relays = settings.relayUrls === undefined ? null : createRelays(settings.relayUrls, { ...shared, timeoutMs })
  return {
    settings,
    client,
    agreed,
    foreign: strangers.agreed,
    relays,
    fees: createFeeOracle({
      client: agreed,
      policy: settings,
      now,
      refreshMs: FEE_REFRESH_MS,
      maxStaleMs: FEE_MAX_STALE_MS,
    }),
    code: createCodeLookup({ client: agreed, now }),
    exists: createExistsFinally(agreed),
    forks: createForkWatch({ client: agreed, chain: settings, now, log: options.log }),
    traces: createBlockTraces(tracers, { now, onRefused }),
    multicall: createMulticallCheck(agreed, settings.multicall3Address, now),
    close() {
      client.close()
      strangers.close()
      tracers.close()
      relays?.close()
    },
  }
}
