/** What a transfer would cost and whether it would succeed. Sends and records nothing. */
import type { Pool } from 'pg'
import type { FeeQuote } from '../chain/fees.ts'
import type { GasRules } from '../chain/forks.ts'
import { nativeAsset } from '../core/assets.ts'
import { Unavailable } from '../core/errors.ts'
import { formatAmount, largest, smallest } from '../core/money.ts'
import type { Owner } from '../core/tenants.ts'
import { buildCall } from './build-call.ts'
import { createEstimateGas, type GasEstimate, type GasRequest } from './estimate-gas.ts'
import type { GasPriority, Intent } from './intent.ts'
import { requireRoom } from './limits.ts'
import { costOfNewAccount } from './new-account.ts'
import { createPlainGas } from './plain-gas.ts'
import type { Requester } from './prepare-transaction.ts'
import { createRefusedByToken, isTokenTransfer, REFUSED_BY_TOKEN } from './refused-by-token.ts'
import { prepareIntent, type TransferRequest } from './request-transfer.ts'
import type { SendContext } from './send-context.ts'
import { mostSignable } from './spend-bounds.ts'

export type FeePreview = {
  readonly native: string
  readonly usd: string | null
  readonly max_fee_per_gas_wei: string
  readonly max_priority_fee_per_gas_wei: string
}

export type TransferPreview = {
  readonly would_succeed: boolean
  readonly reason: string | null
  readonly gas_limit: string | null
  readonly fee: { readonly currency: string } & Readonly<Record<GasPriority, FeePreview>>
  readonly balance_after: string | null
  readonly warnings: { code: string; message: string }[]
}

/** @throws the errors of a transfer request when it is malformed; KeyLimitReached */
export async function previewTransfer(
  ctx: SendContext,
  request: TransferRequest,
  requester: Owner & Requester,
): Promise<TransferPreview> {
  const intent = await prepareIntent(ctx, request, requester)
  await requireRoom(ctx, [intent])
  const rules = await ctx.gasRules(intent.chainId)
  const [quote, estimate, unmoved, warnings, funds] = await Promise.all([
    ctx.quoteOf(intent.chainId),
    estimateCall(ctx, intent, rules),
    refusalOf(ctx, intent, rules),
    warningsOf(ctx, intent),
    fundsOf(ctx, intent),
  ])
  const gasLimit = estimate.ok
    ? smallest(estimate.gasLimit, mostSignable(intent, { rules, since: null }))
    : intent.reserved.gasLimit
  const { left, isShort } = payment(intent, quote, gasLimit, funds)
  const reason = isShort ? 'insufficient_funds' : estimate.ok ? unmoved : estimate.reason
  return {
    would_succeed: reason === null,
    reason,
    gas_limit: estimate.ok ? gasLimit.toString() : null,
    fee: await feesOf(ctx, intent, quote, gasLimit),
    balance_after: left < 0n ? null : formatAmount(left, intent.asset.decimals),
    warnings,
  }
}

/**
 * As a request is judged: it must be able to pay for what it holds. A call that needs more gas is signed with a price that
 * the wallet can pay, which succeeds if it is not below the base fee.
 *
 * @returns what is left of the asset at least; negative if the request would be refused
 */
function payment(
  { asset, amount, reserved, gasPriority }: Intent,
  quote: FeeQuote,
  gasLimit: bigint,
  funds: Funds,
): { readonly left: bigint; readonly isShort: boolean } {
  const spendsNative = asset.contract === null
  const payable = funds.native - (spendsNative ? amount : 0n)
  const held = reserved.gasLimit * reserved.maxFeePerGas
  const price = smallest(quote[gasPriority].maxFeePerGas, largest(payable, 0n) / gasLimit)
  const left = funds.asset - amount - (spendsNative ? largest(held, gasLimit * price) : 0n)
  return { left, isShort: left < 0n || payable < held || price < quote.baseFeePerGas }
}

async function estimateCall({ chainOf }: SendContext, intent: Intent, rules: GasRules): Promise<GasEstimate> {
  const chain = chainOf(intent.chainId)
  const estimateGas = createEstimateGas(chain.foreign, chain.code, createPlainGas(chain))
  const [estimate] = await estimateGas([requestOf(intent, rules)])
  if (estimate === undefined) throw new Error('one call must return one estimate')
  if (!estimate.ok && estimate.code === 'could_not_simulate')
    throw new Unavailable('rpc_unavailable', `No node could simulate the transfer: ${estimate.reason}.`)
  return estimate
}

/** Why the token would refuse it, or `null`. */
async function refusalOf({ chainOf }: SendContext, intent: Intent, rules: GasRules): Promise<string | null> {
  if (!isTokenTransfer(intent)) return null
  const [refused] = await createRefusedByToken(chainOf(intent.chainId).foreign)([requestOf(intent, rules)])
  return refused ? REFUSED_BY_TOKEN : null
}

function requestOf(intent: Intent, rules: GasRules): GasRequest {
  return { from: intent.from, call: buildCall(intent), mostGas: mostSignable(intent, { rules, since: null }) }
}

type Funds = { readonly asset: bigint; readonly native: bigint }

async function fundsOf({ availableOf }: SendContext, intent: Intent): Promise<Funds> {
  const [asset, native] = await Promise.all([
    availableOf(intent.walletId, intent.asset.assetId),
    availableOf(intent.walletId, nativeAsset(intent.network, intent.chainId).assetId),
  ])
  return { asset, native }
}

async function warningsOf({ chainOf, pool }: SendContext, intent: Intent) {
  const { walletId, chainId, from, to } = intent
  const creation = costOfNewAccount(intent)
  const [[contract], known] = await Promise.all([chainOf(chainId).code.haveCode([to]), hasSentTo(pool, walletId, to)])
  return [
    ...(contract
      ? [
          {
            code: 'recipient_is_contract',
            message: 'The recipient is a contract: make sure that it can send the asset on.',
          },
        ]
      : []),
    ...(known
      ? []
      : [
          {
            code: 'first_transfer_to_recipient',
            message: 'This wallet has never sent to this address: check the address.',
          },
        ]),
    ...(to === from
      ? [{ code: 'recipient_is_sender', message: 'The recipient is the wallet itself: the transfer only spends gas.' }]
      : []),
    ...(creation === null ? [] : [{ code: 'recipient_is_new', message: creation }]),
  ]
}

async function hasSentTo(pool: Pool, walletId: string, to: string): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'has_sent_to',
    text: 'SELECT FROM transactions WHERE wallet_id = $1 AND to_address = $2 LIMIT 1',
    values: [walletId, to],
  })
  return rowCount === 1
}

async function feesOf(
  { usdOf }: SendContext,
  intent: Intent,
  quote: FeeQuote,
  gasLimit: bigint,
): Promise<TransferPreview['fee']> {
  const level = async (priority: GasPriority): Promise<FeePreview> => {
    const { maxFeePerGas, maxPriorityFeePerGas } = quote[priority]
    return {
      native: formatAmount(gasLimit * maxFeePerGas, 18),
      usd: await usdOf(intent, gasLimit * maxFeePerGas),
      max_fee_per_gas_wei: maxFeePerGas.toString(),
      max_priority_fee_per_gas_wei: maxPriorityFeePerGas.toString(),
    }
  }
  const [low, medium, high] = await Promise.all([level('low'), level('medium'), level('high')])
  return { currency: nativeAsset(intent.network, intent.chainId).symbol, low, medium, high }
}
