/**
 * The current fee quote of one chain: what a quorum of nodes says that others paid, read at most once per interval, with one
 * read in flight, and kept for a bounded time while there is none.
 */
import { ChainRefused, Unavailable } from '../core/errors.ts'
import {
  type FeeHistory,
  type FeePolicy,
  type FeeQuote,
  HISTORY_BLOCKS,
  quoteFees,
  readFeeHistory,
  TIP_PERCENTILES,
} from './fees.ts'
import { readQuantity, toQuantity } from './hex.ts'
import { type RpcReader, type RpcResult, resultValue, rpcCall } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

/**
 * While some nodes answer, and too few to agree, signing goes on at the last agreed fees: what is too low by then waits, and is
 * replaced when nodes agree again.
 */
const WITHOUT_QUORUM_MS = 3_600_000

export type FeeOracle = {
  /**
   * @throws Unavailable `fee_cap_exceeded` while the network's fee is above the hard cap; `rpc_unavailable` when no
   *   node answered for too long
   */
  readonly quote: () => Promise<FeeQuote>
}

export function createFeeOracle(options: {
  /** What a quorum says alike, the middle one where honest nodes differ. */
  readonly client: RpcReader
  readonly policy: FeePolicy
  /** A clock, ms. */
  readonly now: () => number
  /** Age up to which a quote is reused without a new read, ms. */
  readonly refreshMs: number
  /** Age up to which a quote is used when no node answers, ms; the doubled base fee covers it. */
  readonly maxStaleMs: number
}): FeeOracle {
  const { client, policy, now } = options
  let last: { readonly quote: FeeQuote; readonly readAt: number } | null = null
  let reading: Promise<FeeQuote> | null = null

  const refresh = async (): Promise<FeeQuote> => {
    const result = quoteFees(await readHistory(client).catch(asSilence), policy)
    if (result.type === 'fee_cap_exceeded') {
      last = null
      throw new Unavailable(
        'fee_cap_exceeded',
        `The network requires ${result.neededWei} wei per gas, which is above the configured cap of ${result.capWei}: ` +
          'wait until fees fall, or raise the cap.',
      )
    }
    last = { quote: result.quote, readAt: now() }
    return result.quote
  }

  const refreshOnce = (): Promise<FeeQuote> => {
    reading ??= refresh().finally(() => {
      reading = null
    })
    return reading
  }

  return {
    quote: async () => {
      const known = last
      if (known !== null && now() - known.readAt < options.refreshMs) return known.quote
      try {
        return await refreshOnce()
      } catch (error) {
        const code = error instanceof Unavailable ? error.code : null
        const limitMs = code === 'no_quorum' ? WITHOUT_QUORUM_MS : code === 'rpc_unavailable' ? options.maxStaleMs : 0
        if (known !== null && now() - known.readAt < limitMs) return known.quote
        throw error
      }
    },
  }
}

/** A chain without EIP-1559 fee history is treated as one with base fee 0 and the gas price as tip. */
async function readHistory(client: RpcReader): Promise<FeeHistory> {
  const percentiles = Object.values(TIP_PERCENTILES)
  const params = [toQuantity(HISTORY_BLOCKS), 'latest', percentiles]
  const [history] = await client.batch([{ method: 'eth_feeHistory', params }])
  if (!lacksHistory(history)) return readFeeHistory(resultValue(history, 'eth_feeHistory'))
  const price = readQuantity(await rpcCall(client, 'eth_gasPrice'), 'the answer to eth_gasPrice')
  return { baseFeePerGas: 0n, tips: [percentiles.map(() => price)] }
}

/** A node that refuses eth_feeHistory is treated as unavailable: the caller's request is not at fault. */
function asSilence(error: unknown): never {
  if (!(error instanceof ChainRefused)) throw error
  throw new Unavailable('rpc_unavailable', error.message, { cause: error })
}

function lacksHistory(result: RpcResult | undefined): boolean {
  if (result?.ok === false) return classifyCallFailure(result.error).type === 'unsupported'
  const baseFees = (result?.value as { baseFeePerGas?: unknown } | null | undefined)?.baseFeePerGas
  return !Array.isArray(baseFees) || baseFees.length === 0
}
