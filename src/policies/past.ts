/**
 * Reads the past of a tenant as what policies judge: requests as they would have been judged then, and their outcomes. One event
 * after another in the order of the log, as `past-facts.ts`. Pure.
 */

import { mapValues } from '../core/map-values.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'
import { type AnySchemas, upcast } from '../event-log/aggregate.ts'
import type { LogOwner } from '../event-log/read-logged.ts'
import type { DataEvent } from '../event-log/read-tenant-data.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import type { OpeningEvent } from '../transactions/all-events.ts'
import type { TransactionCancelled } from '../transactions/events.ts'
import { isUnjudged, kindsOfTransactions, opens } from '../transactions/kinds.ts'
import type { Kept } from './backtest.ts'
import type { FoundSpend } from './events.ts'
import type { Facts, KnownChain } from './facts.ts'
import type { Judged, Price } from './intent.ts'
import { createPastFacts, type PastFact } from './past-facts.ts'
import {
  judgedExport,
  judgedKeyChange,
  judgedSignature,
  judgedVoucher,
  type SignedFacts,
  type WalletFacts,
} from './signature-intents.ts'
import { type JudgedKinds, judgedFound, judgedTransaction } from './transaction-intents.ts'

/** A request that no transaction records. `found`: it was found on chain, and nobody requested it. */
export type PastRequest = { readonly requestedAt: string } & (
  | {
      readonly is: 'signature'
      readonly wallet: Omit<WalletFacts, keyof LogOwner | 'requestedAt'>
      readonly signed: SignedFacts
    }
  | { readonly is: 'export'; readonly walletId: string }
  | { readonly is: 'voucher'; readonly walletId: string; readonly chainId: number; readonly contract: string }
  | { readonly is: 'found'; readonly found: FoundSpend }
  | { readonly is: 'api_key_change' }
)

/** What an opening event records of its judgement; nothing in those from before there was a policy. */
export type Judging = { readonly policy?: PolicyPart; readonly reservations?: readonly Reservation[] }

/** What events say, by type: from data of the newest schema version and the id of the stream. */
export type PastReaders = Readonly<Record<string, (data: never, id: string) => readonly (PastFact | PastRequest)[]>>

/** `standing`: what counts until another event says otherwise. `passing`: requests, and what counts for a few days. */
export type PastWords = { readonly standing?: PastReaders; readonly passing?: PastReaders }

type Place = { readonly observedAt: string; readonly transferId: string }
/** What a wallet sent and the log does not have. */
export type Outside = Place & { readonly isConfirmed: boolean; readonly sent: FoundSpend }
/** In the order of places. */
export type FindOutside = (after: Place, most: number) => Promise<readonly Outside[]>

/** What the events of all capabilities say, and how they are upcast. */
export type PastSource = Required<PastWords> & {
  /** Of each category of streams. */
  readonly schemas: ReadonlyMap<string, AnySchemas>
  readonly kinds: JudgedKinds
  /** Contracts of the settings that transactions may let take what they sell. */
  readonly spendersOf: (chain: KnownChain) => readonly string[]
}

export type PastStep =
  | {
      readonly is: 'request'
      readonly id: string
      readonly judged: Judged
      readonly by: Judging
      /** It happened, whatever a policy says of it. */
      readonly isFound?: true
    }
  | ({ readonly is: 'outcome'; readonly id: string } & Ended)

/** `isFinal`: unless a block leaves the chain. */
type Ended = { readonly kept: Kept; readonly isFinal: boolean }

export type Past = {
  /** The request or the outcome that the event is; `null` for what only says something about later ones, and for what is judged by no rule. */
  readonly take: (event: DataEvent) => PastStep | null
}

/** What each outcome leaves: as `spentOf` of transactions. Whether a cancellation is in a block, its event says. */
const OUTCOMES: Readonly<Record<string, Ended>> = {
  // After a failure: the chain went back.
  TransactionMined: { kept: 'all', isFinal: false },
  SettlementRevoked: { kept: 'all', isFinal: false },
  TransactionConfirmed: { kept: 'all', isFinal: true },
  TransactionReverted: { kept: 'fee', isFinal: true },
  TransactionFailed: { kept: 'nothing', isFinal: true },
}
const CANCELLED = 'TransactionCancelled'

/** Types of the events that `take` reads, and of those whose data it needs. */
export function pastTypes({ standing, passing }: PastSource): {
  readonly types: readonly string[]
  readonly dataOf: readonly string[]
} {
  const dataOf = [...Object.keys(kindsOfTransactions()), CANCELLED, ...Object.keys(standing), ...Object.keys(passing)]
  return { types: [...dataOf, ...Object.keys(OUTCOMES)], dataOf }
}

export function createPast(
  { tenantId, environment }: LogOwner,
  {
    source,
    chains,
    isAnyPrice,
  }: {
    readonly source: PastSource
    /** As they are configured now. */
    readonly chains: readonly KnownChain[]
    /** Whether a price counts however old it is. What is to be counted, and not refused, is better counted by an old price than not at all. */
    readonly isAnyPrice: boolean
  },
): Past {
  const known = createPastFacts(chains, source.spendersOf)
  const readers: PastReaders = { ...source.standing, ...source.passing }

  /** Prices are those that the event records, or those that were known by then. */
  function factsFor({ policy }: Judging, { actor, recordedAt }: DataEvent, walletId: string | null): Facts {
    const recorded = recordedPrices(policy?.prices ?? [])
    const aged = (price: Price | null) => (price === null || !isAnyPrice ? price : { ...price, at: recordedAt })
    const priceOf = (assetId: string) =>
      aged(recorded(assetId) ?? (policy?.prices === undefined || isAnyPrice ? known.priceOf(assetId) : null))
    const tags = policy?.tags ?? (walletId === null ? [] : known.walletOf(walletId).tags) ?? []
    return { ...known.facts, actor, tags, priceOf }
  }

  function requestOf(event: DataEvent, by: Judging, request: PastRequest): PastStep {
    const { requestedAt } = request
    const place = { tenantId, environment, requestedAt }
    const facts = factsFor(by, event, walletOf(request))
    const step = (judged: Judged) => ({ is: 'request', id: idOf(event), judged, by }) as const
    switch (request.is) {
      case 'signature': {
        const { wallet, signed } = request
        return step(judgedSignature({ ...place, ...wallet, ...signed }, facts))
      }
      case 'export': {
        const { network, chainId } = known.walletOf(request.walletId).place ?? UNKNOWN_PLACE
        return step(judgedExport({ ...place, walletId: request.walletId, network, chainId }, facts))
      }
      case 'voucher': {
        const { contract, chainId } = request
        const { network } = known.walletOf(request.walletId).place ?? UNKNOWN_PLACE
        const recipient = known.recipientOf(idOf(event))
        const asked = { ...place, walletId: request.walletId, network, chainId, contract, recipient }
        return step(judgedVoucher(asked, facts))
      }
      case 'found':
        return { ...step(judgedFound(request.found, facts)), isFound: true }
      case 'api_key_change':
        return step(judgedKeyChange(place, facts))
      default:
        return request satisfies never
    }
  }

  function openingOf(event: DataEvent): PastStep | null {
    const { type, data } = upcast<OpeningEvent>(
      transactionAggregate.schemas,
      event.type,
      event.schemaVersion,
      event.data,
    )
    const by: Judging = data
    const facts = factsFor(by, event, data.walletId)
    const judged = judgedTransaction(source.kinds, { type, data }, facts)
    return judged.intents.length === 0 || isUnjudged(type) ? null : { is: 'request', id: idOf(event), judged, by }
  }

  return {
    take(event) {
      const ended = event.type === CANCELLED ? endOfCancelled(event.data) : OUTCOMES[event.type]
      if (ended !== undefined) return { is: 'outcome', id: idOf(event), ...ended }
      if (opens(event.type)) return openingOf(event)
      const read = readers[event.type]
      if (read === undefined) return null
      const schemas = source.schemas.get(event.streamId.slice(0, event.streamId.indexOf('-'))) ?? {}
      const { data } = upcast(schemas, event.type, event.schemaVersion, event.data)
      let step: PastStep | null = null
      for (const said of read(data as never, idOf(event))) {
        if ('requestedAt' in said) step = requestOf(event, data as Judging, said)
        else known.learn(said)
      }
      return step
    },
  }
}

function walletOf(request: PastRequest): string | null {
  if (request.is === 'api_key_change') return null
  if (request.is === 'found') return request.found.walletId
  return request.is === 'signature' ? request.wallet.walletId : request.walletId
}

function endOfCancelled(data: unknown): Ended {
  return { kept: (data as TransactionCancelled['data']).hash == null ? 'nothing' : 'fee', isFinal: true }
}

/** Of a wallet whose request the log does not have. */
const UNKNOWN_PLACE = { network: 'ethereum', chainId: 0 } as const

function idOf({ streamId }: Pick<DataEvent, 'streamId'>): string {
  return streamId.slice(streamId.indexOf('-') + 1)
}

function recordedPrices(prices: NonNullable<PolicyPart['prices']>): Facts['priceOf'] {
  const byAsset = mapValues(Object.fromEntries(prices.map((price) => [price.assetId, price])), ({ usd, at }) => ({
    usd,
    at,
  }))
  return (assetId) => byAsset[assetId] ?? null
}

declare module '../capability.ts' {
  interface Capability {
    /** What its events say of the past, for policies that are tested on it. */
    readonly past?: PastWords
  }
  interface TaskNeeds {
    /** What the events of all capabilities say to policies. */
    readonly past: PastSource
    readonly findOutside: FindOutside
  }
}
