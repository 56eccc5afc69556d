/**
 * The gas of transfers of the native currency to accounts without code. It depends on the rules of the chain alone, and
 * on whether the account exists: nodes are asked about accounts that may be new, and about everything on a chain whose
 * rules nobody here knows.
 */

import { patienceWith } from '../chain/asked-together.ts'
import type { ExistsFinally } from '../chain/existence.ts'
import type { ForkWatch } from '../chain/fork-watch.ts'
import { GAS_BOUNDS, type GasRules, rulesOf } from '../chain/forks.ts'
import { readQuantity, toQuantity } from '../chain/hex.ts'
import type { RpcReader, RpcResult } from '../chain/json-rpc.ts'
import { gathering } from '../core/gathering.ts'
import { largest, smallest } from '../core/money.ts'

export type PlainTransfer = { readonly from: string; readonly to: string; readonly value: bigint }

export type PlainGas = {
  readonly gasLimit: bigint
  /** The part of it that creates the account of the recipient; 0 if that exists. */
  readonly newAccount: bigint
}

/** For each transfer alone, in order: that an earlier one creates the account of a later one is not assumed. Never throws. */
export type PlainGasOf = (transfers: readonly PlainTransfer[]) => Promise<readonly PlainGas[]>

/** What a chain must offer for it. */
export type PlainGasChain = {
  readonly agreed: RpcReader
  readonly forks: Pick<ForkWatch, 'fork'>
  readonly exists: ExistsFinally
}

/** Added to the estimate of a node whose rules are unknown. */
const UNKNOWN_MARGIN_PERCENT = 125n
/** Does not depend on the amount, so that an estimate says nothing about funds. */
const LEAST_VALUE = toQuantity(1n)

export function createPlainGas({ agreed, forks, exists }: PlainGasChain): PlainGasOf {
  // The transfers of a batch are asked about in one exchange.
  const ask = gathering((pairs: readonly string[]) => agreed.batch(pairs.map(toEstimate)), {
    patience: patienceWith(String),
  })
  return async (transfers) => {
    const fork = await forks.fork()
    const rules = rulesOf(fork)
    if (rules.newAccount === 0n) return transfers.map(() => ({ gasLimit: rules.transfer, newAccount: 0n }))
    const others = transfers.filter(({ from, to, value }) => value > 0n && from !== to)
    const existing = others.length === 0 ? [] : await exists(others.map(({ to }) => to))
    const created = new Set(others.filter((_, i) => existing[i] === false))
    const isNew = transfers.map((transfer) => created.has(transfer))
    const asked = transfers.filter((_, i) => isNew[i] || fork === 'unknown')
    const answers = asked.length === 0 ? [] : await ask(asked.map(pairOf)).catch(() => [])
    const estimates = new Map(asked.map((transfer, i) => [transfer, estimateOf(answers[i])]))
    return transfers.map((transfer, i) =>
      judge(rules, {
        isNew: isNew[i] === true,
        isKnown: fork !== 'unknown',
        estimate: estimates.get(transfer) ?? null,
      }),
    )
  }
}

/** The limit of what moves nothing, from an address to itself: a cancellation, or a filler of a gap. Never throws. */
export async function emptyTransferGas(plainGas: PlainGasOf, address: string): Promise<bigint> {
  const [gas] = await plainGas([{ from: address, to: address, value: 0n }])
  return smallest(gas?.gasLimit ?? GAS_BOUNDS.empty, GAS_BOUNDS.empty)
}

/** What is held while no node answers: the dearest case. */
export function dearestPlainGas(rules: GasRules): PlainGas {
  return { gasLimit: rules.transfer + rules.newAccount, newAccount: rules.newAccount }
}

function judge(
  rules: GasRules,
  {
    isNew,
    isKnown,
    estimate,
  }: { readonly isNew: boolean; readonly isKnown: boolean; readonly estimate: bigint | null },
): PlainGas {
  const stated = isNew ? rules.transfer + rules.newAccount : rules.transfer
  // An account that exists now may be gone after a reorg: an estimate lowers nothing.
  const least = estimate === null && !isKnown ? dearestPlainGas(rules).gasLimit : stated
  const needed = largest(least, estimate ?? 0n)
  const gasLimit = isKnown ? needed : (needed * UNKNOWN_MARGIN_PERCENT) / 100n
  const newAccount = isNew && gasLimit > rules.transfer ? gasLimit - rules.transfer : 0n
  return { gasLimit, newAccount }
}

function pairOf({ from, to }: PlainTransfer): string {
  return `${from} ${to}`
}

function toEstimate(pair: string) {
  const [from, to] = pair.split(' ')
  return { method: 'eth_estimateGas', params: [{ from, to, value: LEAST_VALUE }] }
}

/** @returns `null` also for more than any transfer needs: one node that says so must not end a request */
function estimateOf(answer: RpcResult | undefined): bigint | null {
  if (answer?.ok !== true) return null
  try {
    const gas = readQuantity(answer.value, 'the answer to eth_estimateGas')
    return gas > GAS_BOUNDS.tokenTransferMost ? null : gas
  } catch {
    return null
  }
}
