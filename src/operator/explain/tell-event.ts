/** Describes each event after the first. Pure. */
import { nativeAsset } from '../../core/assets.ts'
import type { RecordedEvent } from '../../core/messages.ts'
import { assertNever } from '../../core/never.ts'
import type {
  Failure,
  Inclusion,
  LaterEvent,
  ReplacementPurpose,
  TransactionCancelled,
} from '../../transactions/events.ts'
import type { Fees, Intent } from '../../transactions/intent.ts'
import { explainParts, shownFailure } from '../../transactions/parts.ts'
import type { WalletKey } from '../../wallets/events.ts'
import { gwei } from '../words.ts'
import type { StoryFacts } from './read-story.ts'
import { describeQuote } from './tell-opening.ts'
import { amountOf, type Detail, derived, recorded, type Told } from './told.ts'

const PURPOSES: Readonly<Record<ReplacementPurpose, string>> = {
  bump: 'fee bumped: not mined in time',
  speed_up: 'fee bumped: speed-up requested',
  cancel: 'replaced by a transfer of 0 to the wallet itself: cancellation requested',
}

const CLAIMED = ' earlier: an operator decided that this transaction on chain is the request'
const FOUND_AGAIN = ' earlier: the database had lost this record, and it was found on chain'

type RecordedLater = RecordedEvent<LaterEvent>

/** @param index of the event in the history */
export function tellEvent(event: RecordedLater, facts: StoryFacts, index: number): Told {
  switch (event.type) {
    case 'TransactionSigned': {
      const { nonce, hash, fees, quote, recovered, claimed } = event.data
      return {
        text: `signed with nonce ${nonce}${claimed ? CLAIMED : recovered ? FOUND_AGAIN : ''}`,
        details: [
          recorded('hash', hash),
          ...offer(facts, fees),
          recorded('fee quote', describeQuote(quote)),
          signedBy(facts),
        ],
      }
    }
    case 'TransactionReplaced': {
      const { nonce, hash, fees, purpose, replacedHash, quote, recovered } = event.data
      return {
        text: `${PURPOSES[purpose]}; same nonce ${nonce}${recovered ? FOUND_AGAIN : ''}`,
        details: [
          recorded('hash', `${hash} (${purpose})`),
          recorded('replaces', replacedHash),
          ...offer(facts, fees),
          recorded('fee quote', describeQuote(quote)),
          signedBy(facts),
        ],
      }
    }
    case 'TransactionSubmitted':
      return { text: 'sent to a node', details: [recorded('hash', named(facts, event.data.hash, index))] }
    case 'TransactionAwaitingFunds':
      return {
        text: 'refused by the node: the wallet cannot pay. The same bytes will be sent again',
        details: [recorded('hash', named(facts, event.data.hash, index))],
      }
    case 'TransactionMined':
      return tellMined(event.data, facts, index)
    case 'TransactionReorged': {
      return {
        text: `reorg: its block ${event.data.blockNumber} is no longer in the chain. The same bytes will be sent again`,
        details: [recorded('block', event.data.blockHash), ...reorgOf(event, facts)],
      }
    }
    case 'SettlementRevoked': {
      const { outcome, blockNumber, blockHash, confirmations } = event.data
      return {
        text: `reorg: its block ${blockNumber} is no longer in the chain, ${confirmations} blocks deep, after it was reported as ${outcome}: that outcome is revoked`,
        details: [recorded('block', blockHash), ...reorgOf(event, facts)],
      }
    }
    default:
      return tellEnd(event, facts)
  }
}

type RecordedOf<Type extends LaterEvent['type']> = RecordedEvent<Extract<LaterEvent, { readonly type: Type }>>
type EndEvent = RecordedOf<
  | 'TransactionConfirmed'
  | 'TransactionReverted'
  | 'TransactionFailed'
  | 'CancellationRequested'
  | 'SpeedUpRequested'
  | 'TransactionCancelled'
  | 'NonceConsumedExternally'
  | 'LookalikeRejected'
  | 'LookalikeHeld'
>

/** The reorg of the chain that took the block. */
function reorgOf({ position }: RecordedLater, { reorgs }: StoryFacts): Detail[] {
  const reorg = reorgs.get(position)
  if (reorg === undefined) return []
  const { depth, fromBlock, ancestorBlock, accepted } = reorg
  const told = derived('reorg', `${depth} blocks, from block ${fromBlock} back to ${ancestorBlock}`)
  return accepted === null ? [told] : [told, derived('accepted by an operator', accepted)]
}

function tellEnd(event: EndEvent, { transaction: { intent } }: StoryFacts): Told {
  const told = (text: string, ...details: Detail[]): Told => ({ text, details })
  switch (event.type) {
    case 'TransactionConfirmed':
      return told(`final: ${event.data.confirmations} confirmations, in block ${event.data.blockNumber}`)
    case 'TransactionReverted':
      return told(
        `final: failed on chain, ${event.data.confirmations} confirmations, in block ${event.data.blockNumber}`,
        ...failed(event.data, event.data.reason, intent),
      )
    case 'TransactionFailed':
      return told('failed before it was signed: nothing is on chain', ...failed(event.data, event.data.message, intent))
    case 'CancellationRequested':
      return told(
        event.metadata.actor.startsWith('worker:')
          ? 'cancellation requested: the node permanently rejects the bytes'
          : 'cancellation requested',
        ...requestOf(event),
      )
    case 'SpeedUpRequested':
      return told(`speed-up requested, priority ${event.data.gasPriority}`, ...requestOf(event))
    case 'TransactionCancelled':
      return told(
        event.data.hash === null
          ? 'cancelled: nothing is on chain'
          : `cancelled: its nonce was used by a transfer of 0 to the wallet itself${deepAs(event.data)}`,
        ...(event.data.hash === null ? [] : [recorded('hash', event.data.hash)]),
      )
    case 'NonceConsumedExternally':
      return told(
        `nonce ${event.data.nonce} was used by a transaction that Bursar did not send: the request gets a new nonce`,
        ...(event.data.takenBy === undefined
          ? []
          : [recorded('used by', `${event.data.takenBy.hash} in block ${event.data.takenBy.blockNumber}`)]),
        recorded('proven at', `block ${event.data.finalizedBlock}, which is finalized`),
      )
    case 'LookalikeRejected':
      return told(
        event.data.by === 'operator'
          ? 'an operator decided that a transaction on chain is not this request: it is signed as a new one'
          : 'a transaction on chain does the same, but its fees do not have the tag of this request: another program sent it',
        recorded('hash', `${event.data.hash} with nonce ${event.data.nonce}`),
      )
    case 'LookalikeHeld':
      return told(
        event.data.why === 'no_tag'
          ? 'held: a transaction on chain does the same and has no tag; an operator must say whether it is this request'
          : 'held: a transaction on chain has the tag of this request and does something else; an operator must say whether to sign it',
        recorded('hash', `${event.data.hash} with nonce ${event.data.nonce}`),
      )
    default:
      return assertNever(event)
  }
}

/** Older events do not name the confirmations. */
function deepAs({ blockNumber, confirmations }: TransactionCancelled['data']): string {
  return confirmations === undefined ? '' : `, ${confirmations} confirmations, in block ${blockNumber}`
}

/** @param code missing in the event of an execution that failed */
function failed(
  { code, revertedBy }: Partial<Pick<Failure, 'code' | 'revertedBy'>>,
  message: string,
  intent: Intent,
): Detail[] {
  const by = revertedBy === undefined ? {} : { revertedBy }
  const { code: shown } = shownFailure({ code: code ?? 'execution_reverted', message, ...by }, intent, intent.to)
  return [
    shown === code ? recorded('code', shown) : derived('code', shown),
    recorded('reason', message),
    ...(revertedBy == null ? [] : [recorded('reverted by', revertedBy)]),
  ]
}

function requestOf({ metadata: { correlationId, idempotency } }: RecordedLater): Detail[] {
  return [
    ...(correlationId === undefined ? [] : [recorded('request id', correlationId)]),
    ...(idempotency === undefined ? [] : [recorded('idempotency key', idempotency.key)]),
  ]
}

function offer({ transaction }: StoryFacts, { gasLimit, maxFeePerGas, maxPriorityFeePerGas }: Fees): Detail[] {
  const { network, chainId } = transaction.intent
  const most = amountOf(transaction, nativeAsset(network, chainId).assetId, gasLimit * maxFeePerGas)
  return [
    recorded(
      'offers',
      `at most ${gwei(maxFeePerGas)} with a tip of ${gwei(maxPriorityFeePerGas)}, for ${gasLimit} gas: ${most}`,
    ),
  ]
}

/** The event names only the process; the key is the wallet's, which never changes. */
function signedBy({ wallet }: StoryFacts): Detail {
  return derived('key', describeKey(wallet?.key ?? null))
}

function describeKey(key: WalletKey | null): string {
  if (key === null) return 'unknown: the wallet has no key'
  return key.kind === 'hd'
    ? `hd, index ${key.index} of the seed of tenant ${key.tenantId}`
    : `mpc, ${key.keyId}; the signing parties are not recorded`
}

/** A hash with the purpose of its bytes, according to the history so far. */
function named({ events }: StoryFacts, hash: string, index: number): string {
  const signed = events
    .slice(0, index)
    .find(
      (event) =>
        (event.type === 'TransactionSigned' || event.type === 'TransactionReplaced') && event.data.hash === hash,
    )
  return `${hash} (${signed?.type === 'TransactionReplaced' ? signed.data.purpose : 'original'})`
}

function tellMined(inclusion: Inclusion, facts: StoryFacts, index: number): Told {
  const { transaction } = facts
  const { hash, blockNumber, blockHash, succeeded, gasUsed, effectiveGasPrice, blockTimestamp, moved, logs, cancels } =
    inclusion
  const native = nativeAsset(transaction.intent.network, transaction.intent.chainId).assetId
  const paid = amountOf(transaction, native, gasUsed * effectiveGasPrice)
  return {
    text: cancels
      ? `its cancellation was mined in block ${blockNumber}: it is cancelled once that is final`
      : `mined in block ${blockNumber}: ${succeeded ? 'succeeded' : 'failed'}`,
    details: [
      recorded('hash', named(facts, hash, index)),
      recorded('block', `${blockHash} of ${blockTimestamp}`),
      ...(moved === undefined ? [] : [recorded('moved', describeMoved(transaction, moved))]),
      ...(logs === null
        ? []
        : [recorded('logs', `${logs.entries.length}${logs.cut ? ', further ones are not recorded' : ''}`)]),
      ...explainParts(transaction.intent, ({ mined }, part) => mined(transaction.intent, part, inclusion))
        .flat()
        .map(([name, text]) => derived(name, text)),
      recorded('paid', `${paid} for ${gasUsed} gas at ${gwei(effectiveGasPrice)}`),
    ],
  }
}

function describeMoved(transaction: StoryFacts['transaction'], moved: bigint | null): string {
  if (moved === null) return 'nothing: the token logged no transfer to the recipient'
  return amountOf(transaction, transaction.intent.asset.assetId, moved)
}
