/**
 * Asks a quoted route once more at the newest block, with the call data that would be sent: whether it still gives its
 * minimum, and which approvals it needs now.
 */
import { HEAD_REQUEST, headOf } from '../chain/blocks.ts'
import { readCount, readQuantity } from '../chain/hex.ts'
import { type RpcReader, resultValue } from '../chain/json-rpc.ts'
import { encodeAllowance } from './contracts/exchange-reads.ts'
import type { ContractCallData } from './contracts/router.ts'
import { encodeRoute } from './encode-route.ts'
import type { HostedRoute } from './events.ts'
import type { Approval, SwapQuote } from './quote.ts'
import { type RehearsalOutcome, rehearseSwap } from './rehearse-swap.ts'
import { amountsOf, mostIn, spenderOf } from './route.ts'

export type ConfirmedQuote = {
  readonly call: ContractCallData
  /** The last second in which a block may contain the swap. */
  readonly deadline: string
  readonly approval: Approval
  readonly outcome: RehearsalOutcome
}

/** @param now ms. The clock of the chain may be ahead: the deadline counts from the later one. @throws Unavailable */
export async function confirmQuote(
  client: RpcReader,
  quote: SwapQuote,
  { wallet, now }: { readonly wallet: string; readonly now: number },
): Promise<ConfirmedQuote> {
  const { route, fromAsset: from, toAsset: to, terms } = quote
  const spender = from.contract === null ? null : spenderOf(route)
  const { block, timestamp, allowance } = await readState(client, from.contract, wallet, spender)
  const clock = Math.floor(now / 1_000)
  // A node that lies about the time makes it at most twice as far as the owner asked.
  const deadline = Math.min(Math.max(clock, timestamp), clock + terms.deadlineSeconds) + terms.deadlineSeconds
  const call = encodeRoute(route, { wallet, deadline })
  const needed = mostIn(route)
  const approves = from.contract !== null && spender !== null && allowance < needed
  const rehearsed = await rehearseSwap(client, {
    wallet,
    from,
    to,
    call,
    approval: approves ? { token: from.contract, spender, amount: needed } : null,
    hasAllowance: allowance > 0n,
    blockHash: block.hash,
    ...(route.type === 'hosted' ? { others: quote.otherTokens ?? [] } : {}),
  })
  const outcome = route.type === 'hosted' ? keptBy(route, rehearsed) : rehearsed
  const resetFirst = outcome.type === 'swapped' ? outcome.resetFirst : allowance > 0n && quote.approval.resetFirst
  return {
    call,
    deadline: new Date(deadline * 1_000).toISOString(),
    approval: {
      needed: approves,
      spender,
      amount: spender === null ? '0' : needed.toString(),
      resetFirst: approves && resetFirst,
    },
    outcome,
  }
}

/** The outcome of call data that has no minimum of ours: as reverted where it does not keep it, or nobody knows. */
function keptBy(route: HostedRoute, outcome: RehearsalOutcome): RehearsalOutcome {
  if (outcome.type === 'unknown') return { ...outcome, type: 'reverted' }
  if (outcome.type === 'reverted') return outcome
  const { amountIn, limit } = amountsOf(route)
  if (outcome.paid <= amountIn && outcome.received >= limit) return outcome
  return { type: 'reverted', reason: 'Too little received.' }
}

async function readState(client: RpcReader, token: string | null, wallet: string, spender: string | null) {
  const reads =
    token === null || spender === null
      ? []
      : [{ method: 'eth_call', params: [{ to: token, data: encodeAllowance(wallet, spender) }, 'latest'] }]
  const [head, allowance] = await client.batch([HEAD_REQUEST, ...reads])
  const { timestamp } = resultValue(head, 'eth_getBlockByNumber') as Readonly<Record<string, unknown>>
  return {
    block: headOf(head),
    timestamp: readCount(timestamp, 'a timestamp'),
    allowance: allowance === undefined ? 0n : readQuantity(resultValue(allowance, 'eth_call'), 'an allowance'),
  }
}
