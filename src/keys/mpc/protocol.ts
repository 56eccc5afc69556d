/**
 * Requests of the coordinator to the parties, and their answers. A party trusts none of it: every field is validated,
 * and signing requests are looked up in the log.
 */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { SignedKind } from '../../core/registry.ts'
import type { IntentRef, TypedData, UnsignedTransaction } from '../signer.ts'
import { fromJson, toJson } from './json-payload.ts'

/** Message types, in the field `kind` of the envelope. */
export const KIND = {
  begin: 1,
  outcome: 2,
  settle: 3,
  signingRound: 4,
  ceremonyRound: 5,
  holds: 6,
  held: 7,
} as const

/** Concurrent signatures of one session: a round of eight takes a party about 60 ms. */
export const MAX_ITEMS = 8

/** The complete object to sign: a party computes the digest itself. */
export type SigningSubject =
  | { readonly kind: 'transaction'; readonly transaction: UnsignedTransaction }
  | { readonly kind: 'typed_data'; readonly typedData: TypedData }
  | { readonly kind: 'message'; readonly message: Uint8Array }

export type SigningItem = { readonly keyId: string; readonly intent: IntentRef; readonly subject: SigningSubject }

/** A request to take part in a ceremony. Parties are identified by number. */
export type Begin =
  | {
      readonly ceremony: 'sign'
      /** Exactly the threshold of every key. */
      readonly signers: readonly number[]
      /** The signer that assembles the signatures. */
      readonly finisher: number
      readonly items: readonly SigningItem[]
    }
  | {
      readonly ceremony: 'generate'
      readonly keyId: string
      readonly threshold: number
      readonly parties: readonly number[]
    }
  | {
      readonly ceremony: 'refresh'
      readonly keyId: string
      readonly refreshId: string
      readonly parties: readonly number[]
      /** The party whose share was repaired for this refresh. */
      readonly repaired: number | null
    }
  | {
      readonly ceremony: 'repair'
      readonly keyId: string
      readonly refreshId: string
      readonly target: number
      readonly helpers: readonly number[]
    }

/**
 * Reasons for a refusal. `cheated`: the named party failed a check that protects secrecy. `stalled`: the named party
 * did not send in time. `given_up`: the named party reported that it would not continue. `not_covered`: the log has no
 * such request. `nonce_claimed`: the party helped to sign the same transaction with another nonce, or another
 * transaction with this nonce. `busy`: the concurrency limit is reached. `worn`: the shares have reached their limit of
 * checks and must be refreshed.
 */
export const REFUSALS = [
  'invalid',
  'refused',
  'transcript_mismatch',
  'cheated',
  'stalled',
  'given_up',
  'not_covered',
  'nonce_claimed',
  'key_unknown',
  'share_missing',
  'banned',
  'busy',
  'worn',
  'unavailable',
] as const
export type Refusal = {
  readonly kind: (typeof REFUSALS)[number]
  readonly party: number | null
  readonly reason: string
  /** For `nonce_claimed`: the only nonce with which this party helps to sign the transaction. */
  readonly nonce?: number
  /** For `nonce_claimed`: the transaction that has the nonce. */
  readonly holder?: string
}

/** The outcome of each item of a session in order, at one party. Only the finisher has a result. */
export type ItemOutcome =
  | { readonly ok: true; readonly result: Uint8Array }
  | { readonly ok: false; readonly refusal: Refusal }

const Hex = Type.String({ pattern: '^0x([0-9a-f]{2})*$' })
const Party = Type.Integer({ minimum: 1, maximum: 255 })
const Parties = Type.Array(Party, { minItems: 2, uniqueItems: true })
const Quantity = Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$' })
export const Name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
const strict = { additionalProperties: false } as const

const Transaction = Type.Object(
  {
    chainId: Type.Integer({ minimum: 1 }),
    nonce: Type.Integer({ minimum: 0 }),
    to: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
    value: Quantity,
    data: Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$' }),
    gasLimit: Quantity,
    maxFeePerGas: Quantity,
    maxPriorityFeePerGas: Quantity,
  },
  strict,
)
const Domain = Type.Partial(
  Type.Object(
    {
      name: Type.String(),
      version: Type.String(),
      chainId: Type.Integer({ minimum: 0 }),
      verifyingContract: Type.String(),
      salt: Type.String(),
    },
    strict,
  ),
)
const Member = Type.Object({ name: Type.String(), type: Type.String() }, strict)
const TypedDataSchema = Type.Object(
  {
    domain: Domain,
    types: Type.Record(Type.String(), Type.Array(Member)),
    message: Type.Record(Type.String(), Type.Unknown()),
  },
  strict,
)
const Subject = Type.Union([
  Type.Object({ kind: Type.Literal('transaction'), transaction: Transaction }, strict),
  Type.Object({ kind: Type.Literal('typed_data'), typedData: TypedDataSchema }, strict),
  Type.Object({ kind: Type.Literal('message'), message: Hex }, strict),
])
const Item = Type.Object(
  {
    keyId: Name,
    intent: Type.Object(
      {
        // A kind that nobody covers is not signed.
        kind: Type.Unsafe<SignedKind>(Name),
        id: Name,
      },
      strict,
    ),
    subject: Subject,
  },
  strict,
)
const BeginSchema = Type.Union([
  Type.Object(
    {
      ceremony: Type.Literal('sign'),
      signers: Parties,
      finisher: Party,
      items: Type.Array(Item, { minItems: 1, maxItems: MAX_ITEMS }),
    },
    strict,
  ),
  Type.Object({ ceremony: Type.Literal('generate'), keyId: Name, threshold: Party, parties: Parties }, strict),
  Type.Object(
    {
      ceremony: Type.Literal('refresh'),
      keyId: Name,
      refreshId: Name,
      parties: Parties,
      repaired: Type.Union([Party, Type.Null()]),
    },
    strict,
  ),
  Type.Object(
    {
      ceremony: Type.Literal('repair'),
      keyId: Name,
      refreshId: Name,
      target: Party,
      helpers: Parties,
    },
    strict,
  ),
])
const OutcomeSchema = Type.Array(
  Type.Union([
    Type.Object({ ok: Type.Literal(true), result: Hex }, strict),
    Type.Object(
      {
        ok: Type.Literal(false),
        refusal: Type.Object(
          {
            kind: Type.Union(REFUSALS.map((kind) => Type.Literal(kind))),
            party: Type.Union([Party, Type.Null()]),
            reason: Type.String({ maxLength: 2_000 }),
            nonce: Type.Optional(Type.Integer({ minimum: 0 })),
            holder: Type.Optional(Name),
          },
          strict,
        ),
      },
      strict,
    ),
  ]),
)
const SettleSchema = Type.Object({ keyIds: Type.Array(Name, { maxItems: 1_000 }) }, strict)

export function encodeBegin(begin: Begin): Uint8Array {
  if (begin.ceremony !== 'sign') return toJson(begin)
  return toJson({ ...begin, items: begin.items.map((item) => ({ ...item, subject: plainSubject(item.subject) })) })
}

/** @returns undefined for anything but exactly such a request */
export function decodeBegin(payload: Uint8Array): Begin | undefined {
  const plain = fromJson(payload)
  if (!Value.Check(BeginSchema, plain)) return undefined
  if (plain.ceremony !== 'sign') return plain
  return { ...plain, items: plain.items.map((item) => ({ ...item, subject: richSubject(item.subject) })) }
}

export function encodeOutcome(outcome: readonly ItemOutcome[]): Uint8Array {
  return toJson(outcome.map((item) => (item.ok ? { ok: true, result: toHex(item.result) } : item)))
}

/** @returns undefined for anything but exactly such an answer */
export function decodeOutcome(payload: Uint8Array): readonly ItemOutcome[] | undefined {
  const plain = fromJson(payload)
  if (!Value.Check(OutcomeSchema, plain)) return undefined
  return plain.map((item) => (item.ok ? { ok: true, result: fromHex(item.result) } : item))
}

/** Keys whose new shares the log has named: older shares can be removed. */
export function encodeSettle(keyIds: readonly string[]): Uint8Array {
  return toJson({ keyIds })
}

/** @returns undefined for anything but exactly such a notification */
export function decodeSettle(payload: Uint8Array): readonly string[] | undefined {
  const plain = fromJson(payload)
  return Value.Check(SettleSchema, plain) ? plain.keyIds : undefined
}

function plainSubject(subject: SigningSubject): Static<typeof Subject> {
  if (subject.kind === 'message') return { kind: 'message', message: toHex(subject.message) }
  if (subject.kind === 'typed_data') {
    const { domain, types, message } = subject.typedData
    const fields = Object.entries(types).map(([name, list]) => [name, list.map((member) => ({ ...member }))] as const)
    return { kind: 'typed_data', typedData: { domain, types: Object.fromEntries(fields), message } }
  }
  const { value, gasLimit, maxFeePerGas, maxPriorityFeePerGas, ...rest } = subject.transaction
  const amounts = { value, gasLimit, maxFeePerGas, maxPriorityFeePerGas }
  const texts = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount.toString()]))
  return { kind: 'transaction', transaction: { ...rest, ...(texts as Record<keyof typeof amounts, string>) } }
}

function richSubject(subject: Static<typeof Subject>): SigningSubject {
  if (subject.kind === 'message') return { kind: 'message', message: fromHex(subject.message) }
  if (subject.kind === 'typed_data') return subject
  const { transaction } = subject
  return {
    kind: 'transaction',
    transaction: {
      ...transaction,
      value: BigInt(transaction.value),
      gasLimit: BigInt(transaction.gasLimit),
      maxFeePerGas: BigInt(transaction.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(transaction.maxPriorityFeePerGas),
    },
  }
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function fromHex(text: string): Uint8Array {
  return Buffer.from(text.slice(2), 'hex')
}
