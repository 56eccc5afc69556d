/** The opening of a history: the request, its caller, and the state it was accepted on. Pure. */

import { nativeAsset } from '../../core/assets.ts'
import { namedCallerFields } from '../../core/caller-fields.ts'
import type { RecordedEvent } from '../../core/messages.ts'
import type { TransactionEvent } from '../../transactions/all-events.ts'
import type { Intent, Quote } from '../../transactions/intent.ts'
import { costOfNewAccount } from '../../transactions/new-account.ts'
import { explainParts } from '../../transactions/parts.ts'
import { gwei } from '../words.ts'
import type { StoryFacts } from './read-story.ts'
import { amountOf, derived, fromNow, recorded, type Told } from './told.ts'

export function tellOpening({ metadata }: RecordedEvent<TransactionEvent>, facts: StoryFacts): Told {
  const { transaction, wallet } = facts
  const { intent, type } = transaction
  const amount = amountOf(transaction, intent.asset.assetId, intent.amount)
  const { correlationId, idempotency, traceparent } = metadata
  const optional: (readonly [string, string | null | undefined])[] = [
    ['request id', correlationId],
    ['idempotency key', idempotency?.key],
    ['trace', traceparent],
    ...namedCallerFields(intent),
    ['serves', intent.subject === null ? null : `${intent.subject.type} ${intent.subject.id}`],
    ['depends on', intent.dependsOn],
    ...explainParts(intent, ({ accepted }, part, name) => [name, accepted(intent, part)] as const),
    ['call', describeCall(intent)],
  ]
  return {
    text: `accepted: ${type} of ${amount} from ${intent.from} to ${intent.to}`,
    details: [
      ...optional.flatMap(([name, value]) => (value ? [recorded(name, value)] : [])),
      fromNow('wallet', `${intent.walletId}${wallet === null ? '' : ` (${wallet.type}) ${wallet.label}`}`.trimEnd()),
      recorded('fee quote', `${describeQuote(intent.quote)}, priority ${intent.gasPriority}`),
      recorded('held back', heldBack(facts)),
      ...facts.funds.map((funds) => derived('balance then', describeFunds(facts, funds))),
      derived('price', 'none: prices do not affect the decision'),
    ],
  }
}

function describeCall({ call }: Intent): string | null {
  if (call === undefined) return null
  return call.signature ?? `the function ${call.selector ?? 'receive or fallback'}, whose name was not given`
}

/** The fee quote at the time of the decision. */
export function describeQuote(quote: Quote | null): string {
  if (quote === null) return 'not recorded by the version that wrote the event'
  return `base fee ${gwei(quote.baseFeePerGas)}, tip ${gwei(quote.maxPriorityFeePerGas)}, at most ${gwei(quote.maxFeePerGas)}`
}

function heldBack({ transaction }: StoryFacts): string {
  const { intent } = transaction
  const { gasLimit, maxFeePerGas } = intent.reserved
  const native = nativeAsset(intent.network, intent.chainId).assetId
  const gas = amountOf(transaction, native, gasLimit * maxFeePerGas)
  const amounts = [intent, ...(intent.outflows ?? [])].map(({ asset, amount }) =>
    amountOf(transaction, asset.assetId, amount),
  )
  const creation = costOfNewAccount(intent)
  const told = `${amounts.join(', ')}, and ${gas} for ${gasLimit} gas at ${gwei(maxFeePerGas)}`
  return creation === null ? told : `${told}. ${creation}`
}

function describeFunds(
  { transaction }: StoryFacts,
  { assetId, balance, blockNumber, held }: StoryFacts['funds'][number],
): string {
  if (balance === null) return `no balance of ${assetId} was observed`
  const others =
    held === null
      ? 'too many open requests to compute the holds'
      : `of which ${amountOf(transaction, assetId, held)} was held by other requests`
  return `${amountOf(transaction, assetId, balance)} at block ${blockNumber}, ${others}`
}
