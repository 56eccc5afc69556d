/**
 * What a transaction can do, by its opening event: the amounts and assets of the event, and for calls what their data says,
 * whatever the kind of the event is called. Pure.
 */

import { nativeAsset } from '../core/assets.ts'
import { apiKeyOf } from '../core/messages.ts'
import type { Opening } from '../core/registry.ts'
import type { Intent as OpeningIntent, SwapIntent } from '../transactions/intent.ts'
import { sendsNothingToItself } from '../transactions/opening-rules.ts'
import { callIntents } from './call-intents.ts'
import type { FoundSpend } from './events.ts'
import { type Facts, movedOf } from './facts.ts'
import { ANY, type Intent, intentOf, type Judged, keyOf, unclear } from './intent.ts'

/** An opening event. `authorizationList`: of EIP-7702, whose code then acts as the wallet; no kind of today has one. */
export type OpeningFacts = {
  readonly type: Opening
  readonly data: OpeningIntent & { readonly authorizationList?: readonly unknown[] }
}

export function judgedTransaction({ type, data }: OpeningFacts, facts: Facts): Judged {
  const { tenantId, environment, requestedAt, walletId, network, chainId, reserved } = data
  const native = nativeAsset(network, chainId)
  const fee = reserved.gasLimit * reserved.maxFeePerGas
  const intents = [...intentsOf(type, data, facts), ...delegations(data)]
  return {
    tenantId,
    environment,
    at: requestedAt,
    apiKey: apiKeyOf(facts.actor),
    walletId,
    tags: facts.tags,
    network,
    chainId,
    intents,
    fee: intents.length > 0 ? movedOf(chainId, native, fee, facts) : null,
  }
}

/**
 * What was found on chain: it left the wallet, and nothing says what was requested, nor by which API key. So rules about any of them
 * match it. Its fee is not counted.
 */
export function judgedFound(found: FoundSpend, facts: Facts): Judged {
  const { tenantId, environment, walletId, network, chainId, asset, usd, sentAt } = found
  const recipient = found.recipient?.toLowerCase() ?? ANY
  const moves = movedOf(chainId, asset, BigInt(found.amount), facts)
  const intent = intentOf({
    actions: ['transfer', 'batch', 'swap', 'contract_call'],
    ...{ recipient, contract: ANY, method: ANY, buys: ANY },
    isToOwnWallet: recipient !== ANY && facts.isOwn(recipient),
    moves: usd === null ? moves : { ...moves, price: { usd, at: sentAt } },
  })
  const place = { tenantId, environment, walletId, network, chainId }
  return { ...place, at: sentAt, apiKey: ANY, tags: facts.tags, intents: [intent], fee: null }
}

function intentsOf(type: Opening, data: OpeningIntent, facts: Facts): readonly Intent[] {
  switch (type) {
    case 'TransferRequested':
      return data.data === null ? [transferIntent(data, facts)] : callIntents(data, ['transfer'], facts)
    case 'SwapRequested':
      return [swapIntent(data, facts)]
    case 'TokenApprovalRequested':
      return approvalIntents(data, facts)
    case 'ContractCallRequested':
      return callIntents(data, ['contract_call'], facts)
    case 'MintRequested':
      return mintIntents(data, facts)
    case 'NftTransferRequested':
      return callIntents(data, ['nft_transfer'], facts)
    // Their rules say that they call what this service deploys, and move nothing.
    case 'CollectionDeployRequested':
    case 'TokenUpdateRequested':
    case 'VoucherRevocationRequested':
      return [intentOf({ actions: ['contract_call'], ...calledBy(data) })]
    // The operator deploys what all swaps of the installation use.
    case 'SwapGuardDeployRequested':
      return []
    case 'NonceFillRequested':
    case 'CheckpointAnchorRequested':
      return sendsNothingToItself(data) ? [] : [unclear(['contract_call'])]
    default:
      return type satisfies never
  }
}

/** `transfer(address,uint256)`. */
const TRANSFER = '0xa9059cbb'

function transferIntent({ chainId, to, asset, amount, subject }: OpeningIntent, facts: Facts): Intent {
  const recipient = to.toLowerCase()
  return intentOf({
    actions: subject?.type === 'transfer_batch' ? ['transfer', 'batch'] : ['transfer'],
    recipient,
    isToOwnWallet: facts.isOwn(recipient),
    contract: asset.contract?.toLowerCase() ?? null,
    method: asset.contract === null ? null : TRANSFER,
    moves: movedOf(chainId, asset, amount, facts),
  })
}

function swapIntent(data: OpeningIntent, facts: Facts): Intent {
  const { chainId, asset, amount, swap } = data
  if (swap === undefined) return unclear(['swap'])
  const { toAsset } = swap
  return intentOf({
    actions: ['swap'],
    ...calledBy(data),
    moves: movedOf(chainId, asset, amount, facts),
    buys: keyOf(chainId, toAsset.contract),
    slippageBps: slippageOf(swap),
  })
}

/** Rounded up: a rule about less than 50 bps is not met by 49.9. */
function slippageOf({ amountType, fromAmount, toAmount, limit }: SwapIntent): number {
  const quoted = BigInt(amountType === 'exact_output' ? fromAmount : toAmount)
  const given = amountType === 'exact_output' ? BigInt(limit) - quoted : quoted - BigInt(limit)
  if (quoted <= 0n || given <= 0n) return 0
  const bps = (given * 10_000n + quoted - 1n) / quoted
  return bps > MOST_BPS ? Number(MOST_BPS) : Number(bps)
}

const MOST_BPS = 1_000_000_000n

/**
 * The swap after it moves what the exchange may take. An allowance without a bound, or of a spender that is no exchange, is one like
 * any other.
 */
function approvalIntents(data: OpeningIntent, facts: Facts): readonly Intent[] {
  return callIntents(data, ['swap'], facts).map((intent) => {
    const { spender, actions, moves } = intent
    const isOfSwap = (spender === null || facts.isSwapSpender(data.chainId, spender)) && moves?.amount !== ANY
    return actions.includes('approve') && isOfSwap
      ? { ...intent, actions: ['swap'], recipient: null, moves: null }
      : intent
  })
}

/** Recipients of one mint, each judged. */
const MAX_RECIPIENTS = 64

function mintIntents(data: OpeningIntent, { isOwn, mintedTo }: Facts): readonly Intent[] {
  const called = { actions: ['nft_mint'], ...calledBy(data) } as const
  const recipients = [...new Set(mintedTo(data.data ?? '0x'))]
  if (recipients.length === 0 || recipients.length > MAX_RECIPIENTS) return [intentOf({ ...called, recipient: ANY })]
  return recipients.map((recipient) => intentOf({ ...called, recipient, isToOwnWallet: isOwn(recipient) }))
}

function calledBy({ to, data }: OpeningIntent): Pick<Intent, 'contract' | 'method'> {
  return { contract: to.toLowerCase(), method: data?.slice(0, 10).toLowerCase() ?? null }
}

function delegations({ authorizationList = [] }: OpeningFacts['data']): readonly Intent[] {
  return authorizationList.length === 0 ? [] : [unclear(['contract_call'])]
}
