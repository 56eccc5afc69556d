/**
 * The gas that a transfer holds when it is accepted. What a node says comes first; a node that does not answer within a
 * second makes the request hold the dearest case, and never fail: the lane asks again before it signs.
 */
import { LRUCache } from 'lru-cache'
import type { CodeLookup } from '../chain/code.ts'
import { encodeTransfer } from '../chain/erc20.ts'
import { within } from '../chain/fork-watch.ts'
import { GAS_BOUNDS, type GasRules } from '../chain/forks.ts'
import { readQuantity, toQuantity } from '../chain/hex.ts'
import type { RpcReader, RpcResult } from '../chain/json-rpc.ts'
import { largest, smallest } from '../core/money.ts'
import { GAS_MARGIN_PERCENT } from './estimate-gas.ts'
import { createPlainGas, dearestPlainGas, type PlainGas, type PlainGasChain } from './plain-gas.ts'

export type WantedTransfer = {
  readonly from: string
  readonly to: string
  /** `null` for the native currency. */
  readonly contract: string | null
  /** Base units. */
  readonly amount: bigint
}

/** Each transfer is judged alone. Never throws. */
export type TransferGas = (transfer: WantedTransfer) => Promise<PlainGas>

export type TransferGasChain = PlainGasChain & {
  readonly forks: PlainGasChain['forks'] & { readonly rules: () => Promise<GasRules> }
  /** For reads that run code of contracts that tenants name. */
  readonly foreign: RpcReader
  readonly code: CodeLookup
}

/** How long a request waits for a node. */
const WAIT_MS = 1_000
/** Tokens whose gas is remembered, and for how long. A wallet whose transfer could not be estimated is asked for again sooner. */
const REMEMBERED_TOKENS = 10_000
const REMEMBERED_MS = 600_000
const UNKNOWN_FOR_MS = 30_000

export function createTransferGas(chain: TransferGasChain): TransferGas {
  const plainGas = createPlainGas(chain)
  const tokenGas = createTokenGas(chain.foreign)
  return async ({ from, to, contract, amount }) => {
    const rules = await chain.forks.rules()
    if (contract !== null) {
      const learned = await tokenGas({ from, to, contract, amount })
      return { gasLimit: smallest(largest(learned, rules.tokenTransfer), rules.transaction), newAccount: 0n }
    }
    const native = async (): Promise<PlainGas> => {
      // Both are asked at once, so that a new recipient costs one round trip more than any other.
      const asksExistence = rules.newAccount > 0n && from !== to
      const [[runsCode]] = await Promise.all([chain.code.haveCode([to]), asksExistence ? chain.exists([to]) : null])
      if (runsCode) return { gasLimit: await codeGas(chain, rules, { from, to, amount }), newAccount: 0n }
      const [gas] = await plainGas([{ from, to, value: amount }])
      return gas ?? dearestPlainGas(rules)
    }
    const late = dearestPlainGas(rules)
    return within(
      WAIT_MS,
      native().catch(() => late),
      late,
    )
  }
}

/** The code of the recipient runs: its gas may change until the lane estimates it again. */
async function codeGas(
  { foreign }: TransferGasChain,
  rules: GasRules,
  { from, to, amount }: Pick<WantedTransfer, 'from' | 'to' | 'amount'>,
): Promise<bigint> {
  // Only the rules of a fork that is newer than this number make it worth a call.
  if (rules.newAccount === 0n) return rules.contractTransfer
  const call = { from, to, value: toQuantity(amount), gas: toQuantity(GAS_BOUNDS.tokenTransferMost) }
  const [answer] = await within(
    WAIT_MS / 2,
    foreign.batch([{ method: 'eth_estimateGas', params: [call] }]).catch(() => []),
    [],
  )
  return largest(withMargin(answer) ?? 0n, rules.contractTransfer)
}

type TokenTransfer = WantedTransfer & { readonly contract: string }

/**
 * What a token needs, by a recent transfer of anyone: requests of one token share an estimate, and one that never answers
 * delays nobody else. That a transfer could not be estimated, as of a wallet without the token, says nothing about others.
 */
function createTokenGas(client: RpcReader): (transfer: TokenTransfer) => Promise<bigint> {
  const learned = new LRUCache<string, bigint>({ max: REMEMBERED_TOKENS, ttl: REMEMBERED_MS })
  const failed = new LRUCache<string, true>({ max: REMEMBERED_TOKENS, ttl: UNKNOWN_FOR_MS })
  const asking = new Map<string, Promise<bigint>>()
  const ask = async ({ from, to, contract, amount }: TokenTransfer): Promise<bigint> => {
    const gas = toQuantity(GAS_BOUNDS.tokenTransferMost)
    const call = { from, to: contract, data: encodeTransfer(to, amount), gas }
    const [answer] = await within(
      WAIT_MS,
      client.batch([{ method: 'eth_estimateGas', params: [call] }]).catch(() => []),
      [],
    )
    const needed = withMargin(answer)
    if (needed === null) failed.set(`${contract} ${from}`, true)
    else learned.set(contract, needed)
    return needed ?? 0n
  }
  return (transfer) => {
    const { contract, from } = transfer
    const key = `${contract} ${from}`
    const known = learned.get(contract) ?? (failed.has(key) ? 0n : undefined)
    if (known !== undefined) return Promise.resolve(known)
    const open = asking.get(key) ?? ask(transfer).finally(() => asking.delete(key))
    asking.set(key, open)
    return open
  }
}

/** @returns `null` also for more than the call was allowed: no honest node says so */
function withMargin(answer: RpcResult | undefined): bigint | null {
  if (answer?.ok !== true) return null
  try {
    const gas = readQuantity(answer.value, 'the answer to eth_estimateGas')
    return gas > GAS_BOUNDS.tokenTransferMost ? null : (gas * GAS_MARGIN_PERCENT) / 100n
  } catch {
    return null
  }
}
