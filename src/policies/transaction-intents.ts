/**
 * What a transaction can do, by its opening event: the amounts and assets of the event, and for calls what their data says,
 * whatever the kind of the event is called. The capability of a kind describes it (`intents.ts` of its folder). Pure.
 */

import { nativeAsset } from '../core/assets.ts'
import type { Declaration } from '../core/declaration.ts'
import { apiKeyOf } from '../core/messages.ts'
import type { Opening } from '../core/registry.ts'
import type { transactions } from '../transactions/declaration.ts'
import type { Intent as OpeningIntent } from '../transactions/intent.ts'
import { sendsNothingToItself } from '../transactions/opening-rules.ts'
import { callIntents } from './call-intents.ts'
import type { FoundSpend } from './events.ts'
import { type Facts, movedOf } from './facts.ts'
import { ANY, type Intent, intentOf, type Judged, unclear } from './intent.ts'

/** An opening event. `authorizationList`: of EIP-7702, whose code then acts as the wallet; no kind of today has one. */
export type OpeningFacts = {
  readonly type: Opening
  readonly data: OpeningIntent & { readonly authorizationList?: readonly unknown[] }
}

/** What a transaction of a kind can do: each intent is judged. */
export type JudgedKind = {
  readonly intents: (data: OpeningIntent, facts: Facts) => readonly Intent[]
}
/** By opening event. */
export type JudgedKinds = Readonly<Partial<Record<Opening, JudgedKind>>>
/** Those of a capability: an opening of its declaration without one does not compile. */
export type JudgedKindsOf<D extends Pick<Declaration, 'openings'>> = Readonly<
  Record<keyof D['openings'] & Opening, JudgedKind>
>

/** What a transaction can do that nobody describes: a swap of anything at any price, too. */
const ANY_TRANSACTION = unclear(['batch', 'swap', 'contract_call', 'nft_mint'], { buys: ANY, slippageBps: 10_000 })

/** A kind that nobody describes can do anything: every rule that denies or counts what leaves a wallet matches it. */
export function judgedTransaction(kinds: JudgedKinds, { type, data }: OpeningFacts, facts: Facts): Judged {
  const { tenantId, environment, requestedAt, walletId, network, chainId, reserved } = data
  const native = nativeAsset(network, chainId)
  const fee = reserved.gasLimit * reserved.maxFeePerGas
  const intents = [...(kinds[type]?.intents(data, facts) ?? [ANY_TRANSACTION]), ...delegations(data)]
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

/** The contract of a call, and its function. */
export function calledBy({ to, data }: OpeningIntent): Pick<Intent, 'contract' | 'method'> {
  return { contract: to.toLowerCase(), method: data?.slice(0, 10).toLowerCase() ?? null }
}

/** A transaction to the wallet itself, which no API key requests. */
export const MOVES_NOTHING: JudgedKind = {
  intents: (data) => (sendsNothingToItself(data) ? [] : [unclear(['contract_call'])]),
}

/** Transactions that belong to no other capability. */
export const transactionIntents: JudgedKindsOf<typeof transactions> = {
  TransferRequested: {
    intents: (data, facts) =>
      data.data === null ? [transferIntent(data, facts)] : callIntents(data, ['transfer'], facts),
  },
  NonceFillRequested: MOVES_NOTHING,
}

function delegations({ authorizationList = [] }: OpeningFacts['data']): readonly Intent[] {
  return authorizationList.length === 0 ? [] : [unclear(['contract_call'])]
}

declare module '../capability.ts' {
  interface Capability {
    /** What transactions of a kind can do, by the opening event: those that it opens. Policies judge it. */
    readonly judges?: JudgedKinds
  }
}
