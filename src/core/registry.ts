/**
 * What capabilities declare, as types: each `declaration.ts` adds its line to `Declared`, and the kinds of ids, scopes, tables,
 * queues and openings follow from all of them. It imports no capability, so that every module may name these types.
 *
 * `src/declarations.ts` lists the values: a declaration that is registered and not listed there does not compile, nor one that
 * is listed and not registered.
 */
import type { Declaration, QueueLimits, QuotaDeclaration, StreamDeclaration } from './declaration.ts'
import type { ErrorActions } from './errors.ts'
import type { ScopeTerms } from './scopes.ts'

/** By folder. A declaration adds itself: `declare module '../core/registry.ts' { interface Declared { … } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: declarations are merged into it.
export interface Declared {}

type AnyDeclared = Declared[keyof Declared]
type KeyIn<D, Part extends keyof Declaration> = D extends { readonly [P in Part]: infer T } ? keyof T & string : never
type QueueIn<D> = D extends { readonly queues: infer Q }
  ? {
      [Name in keyof Q & string]: Q[Name] extends { readonly mpcLimits: QueueLimits } ? Name | `mpc-${Name}` : Name
    }[keyof Q & string]
  : never
type ReadModelIn<D> = D extends { readonly tables: infer T }
  ? { [Name in keyof T & string]: T[Name] extends { readonly follows: string } ? Name : never }[keyof T & string]
  : never
type AppendedIn<D> = D extends { readonly tables: infer T }
  ? { [Name in keyof T & string]: T[Name] extends { readonly isAppended: true } ? Name : never }[keyof T & string]
  : never
type OpeningIn<D> = D extends { readonly openings: infer O } ? O[keyof O] : never
type IdPrefixIn<D> = D extends { readonly ids: infer Ids } ? Ids[keyof Ids] : never
type TextIn<D, Part extends 'signs' | 'subjects' | 'tasks'> = D extends {
  readonly [P in Part]: readonly (infer T)[]
}
  ? T
  : never

type MetricPart = 'counters' | 'timers' | 'levels'
type LabelIn<D, Part extends MetricPart, Name extends string> = D extends {
  readonly [P in Part]: { readonly [N in Name]: { readonly labels: readonly (infer Label)[] } }
}
  ? Label & string
  : never
type LabelsOf<Part extends MetricPart, Name extends string> = [LabelIn<AnyDeclared, Part, Name>] extends [never]
  ? Readonly<Record<string, never>>
  : Readonly<Record<LabelIn<AnyDeclared, Part, Name>, string>>

type QuotaIn<D, Kind> = D extends { readonly quotas: infer Q }
  ? { [Name in keyof Q & string]: Q[Name] extends { readonly kind: Kind } ? Name : never }[keyof Q & string]
  : never

type FindingIn<D> = D extends { readonly findings: readonly (infer Group)[] }
  ? Group extends { readonly kinds: infer Kinds }
    ? keyof Kinds & string
    : never
  : never

export type IdKind = KeyIn<AnyDeclared, 'ids'>
/** What ids begin with, before `_`. */
export type IdPrefix = IdPrefixIn<AnyDeclared>
/** Creates ids. It is passed in, so that tests can choose the ids. */
export type NewId = (kind: IdKind) => string
export type Scope = KeyIn<AnyDeclared, 'scopes'>
export type Opening = KeyIn<AnyDeclared, 'openings'>
export type TransactionType = OpeningIn<AnyDeclared>['type']
export type SubjectType = TextIn<AnyDeclared, 'subjects'>
export type TaskName = TextIn<AnyDeclared, 'tasks'>
/** Kinds of what signers are asked to sign. */
export type SignedKind = TextIn<AnyDeclared, 'signs'>
export type Table = KeyIn<AnyDeclared, 'tables'>
export type ReadModel = ReadModelIn<AnyDeclared>
/** Tables beside the log of which an append writes whole rows. */
export type AppendedBeside = AppendedIn<AnyDeclared>
export type QueueName = QueueIn<AnyDeclared>
/** What `stuck` finds. */
export type FindingKind = FindingIn<AnyDeclared>

export type Quota = KeyIn<AnyDeclared, 'quotas'>
/** Counted in the database: what exists or is unfinished, across all API processes. */
export type CountedQuota = QuotaIn<AnyDeclared, 'counted'>
/** Of single requests of a route. */
export type RateQuota = QuotaIn<AnyDeclared, 'rate'>
/** Every quota, in the order of lists. */
export type DeclaredQuotas = Readonly<Record<Quota, QuotaDeclaration>>

/** Adds 1, or `by`, to a declared counter. */
export type Count = <Name extends KeyIn<AnyDeclared, 'counters'>>(
  name: Name,
  labels: LabelsOf<'counters', Name>,
  by?: number,
) => void
/** Adds a duration in ms to a declared timer. */
export type Time = <Name extends KeyIn<AnyDeclared, 'timers'>>(
  name: Name,
  labels: LabelsOf<'timers', Name>,
  ms: number,
) => void
/** Sets a declared level. */
export type SetLevel = <Name extends KeyIn<AnyDeclared, 'levels'>>(
  name: Name,
  labels: LabelsOf<'levels', Name>,
  value: number,
) => void

/** The declared metrics, by name. */
export type DeclaredMetrics = Required<Pick<Declaration, MetricPart>>

/** What capabilities declare, as values that every process hands on. */
export type Catalogue = {
  /** What an API key may do. */
  readonly scopes: Readonly<Record<Scope, ScopeTerms>>
  /** Every category of streams. */
  readonly streams: Readonly<Record<string, StreamDeclaration>>
  /** The error codes of each capability. */
  readonly errors: readonly ErrorActions[]
  readonly metrics: DeclaredMetrics
  readonly quotas: DeclaredQuotas
  /** What each kind of finding means, in the order of the help. */
  readonly findings: Readonly<Record<FindingKind, string>>
  /** The tags of the API document, in the order in which a reader needs them. */
  readonly tags: readonly { readonly name: string; readonly description: string }[]
}
