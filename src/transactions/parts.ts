/**
 * What a capability records of its transactions beside what every transaction has, and what it says of it: in the API, in
 * public events, of a failure, in `explain`. `src/compose/capabilities.ts`, which lists what capabilities do, names them here
 * when it is loaded.
 *
 * Invariant: no module reads them while it is loaded.
 */
import type { TSchema } from '@sinclair/typebox'
import { mapValues } from '../core/map-values.ts'
import type { Failure, Inclusion } from './events.ts'
import type { Intent } from './intent.ts'
import { partNames } from './kinds.ts'
import type { ViewRow } from './transaction-row.ts'

/** The parts of a transaction in the API, by name. A capability adds its own: `declare module '../transactions/parts.ts'`. */
// biome-ignore lint/suspicious/noEmptyInterface: capabilities add their parts.
export interface PartSchemas {}

/** A failure as the API shows it. */
export type ShownFailure = { readonly code: string; readonly message: string }

/** @typeParam Part as the intent records it; `View`: as the API shows it */
export type PartRules<Part, View> = {
  /** Also null, for transactions without the part. */
  readonly schema: TSchema
  readonly view: (row: ViewRow, part: Part) => View
  /** In public events, which are rendered from events alone. @param type of the public event */
  readonly atEvent: { readonly schema: TSchema; readonly view: (view: View, type: string) => unknown }
  /** Public events beside `transaction.confirmed`, each with its description, and whether a transaction is told by it. */
  readonly confirmed: Readonly<Record<string, { readonly description: string; readonly when: (view: View) => boolean }>>
  /** @param to the called contract */
  readonly failure: (failure: Failure, of: { readonly part: Part; readonly to: string }) => ShownFailure
  readonly explains: {
    /** What was accepted, in one line. */
    readonly accepted: (intent: Intent, part: Part) => string
    /** What its block shows: names and texts. */
    readonly mined: (intent: Intent, part: Part, inclusion: Inclusion) => readonly (readonly [string, string])[]
    /** What to do after a failure with this code, and the transaction to look at; null for what is said of every transaction. */
    readonly afterFailure: (code: string, part: Part) => { readonly text: string; readonly see: string | null } | null
  }
}

/** For lists of parts of all types; each gets only its own. */
export type AnyPart = PartRules<never, never>
type Parts = Readonly<Record<string, AnyPart>>

let named: Parts | null = null

/** @throws Error if others were named before, and for a part that no declaration has: it would be kept out of no intent */
export function nameParts(parts: Parts): void {
  if (named !== null) throw new Error('the parts of transactions are named once')
  const undeclared = Object.keys(parts).filter((name) => !partNames().includes(name))
  if (undeclared.length > 0) throw new Error(`declare these parts in intentParts: ${undeclared.join(', ')}`)
  named = parts
}

export function anyPart<Part, View>(rules: PartRules<Part, View>): AnyPart {
  return rules as unknown as AnyPart
}

function all(): Parts {
  if (named === null) throw new Error('no parts of transactions are named: import src/compose/capabilities.ts')
  return named
}

export function partSchemas(): PartSchemas {
  return mapValues(all(), ({ schema }) => schema) as unknown as PartSchemas
}

export function partSchemasAtEvent(): Readonly<Record<string, TSchema>> {
  return mapValues(all(), ({ atEvent }) => atEvent.schema)
}

/** The parts of a transaction in the form of the API; null for one that it does not have. */
export function partViews(row: ViewRow): Record<string, unknown> {
  return viewEach(all(), (name, { view }) => present(row, name, (part) => view(row, part)))
}

/** The parts of a view as a public event of this type tells them. */
export function partsAtEvent(view: object, type: string): Record<string, unknown> {
  return viewEach(all(), (name, { atEvent }) => present(view, name, (part) => atEvent.view(part, type)))
}

/** Descriptions of the public events that parts add to those of confirmed transactions. */
export function confirmedTypes(): Readonly<Record<string, string>> {
  const types = Object.values(all()).flatMap(({ confirmed }) => Object.entries(confirmed))
  return Object.fromEntries(types.map(([type, { description }]) => [type, description]))
}

/** Whether a public event of this type is told of a transaction: null for a type that no part adds. */
export function isTold(view: object, type: string): boolean | null {
  for (const [name, { confirmed }] of Object.entries(all())) {
    const when = confirmed[type]?.when
    if (when !== undefined) return present(view, name, (part) => when(part)) ?? false
  }
  return null
}

/** The failure as the API shows it: a part may give its code a more precise one. `parts`: an intent, or a row. */
export function shownFailure(failure: Failure, parts: object, to: string): ShownFailure {
  for (const [name, rules] of Object.entries(all())) {
    const shown = present(parts, name, (part) => rules.failure(failure, { part, to }))
    if (shown !== null) return shown
  }
  return { code: failure.code, message: failure.message }
}

/** What parts say of a transaction to operators. */
export function explainParts<Said>(
  intent: Intent,
  say: (explains: AnyPart['explains'], part: never, name: string) => Said,
): readonly Said[] {
  return Object.entries(all()).flatMap(([name, { explains }]) => {
    const said = present(intent, name, (part) => ({ said: say(explains, part, name) }))
    return said === null ? [] : [said.said]
  })
}

function present<Result>(of: object, name: string, use: (part: never) => Result): Result | null {
  const part = (of as Readonly<Record<string, unknown>>)[name]
  return part == null ? null : use(part as never)
}

function viewEach(parts: Parts, view: (name: string, rules: AnyPart) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parts).map(([name, rules]) => [name, view(name, rules)]))
}

declare module '../capability.ts' {
  interface Capability {
    /** What its transactions record beside what every transaction has, by the name that it declares. */
    readonly parts?: Parts
  }
}
