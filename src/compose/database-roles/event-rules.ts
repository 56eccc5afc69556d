/** What an append may write with each event: the content of `event_rules`, and the rules of which the row checks are made. */
import type { RowDeclaration } from '../../core/declaration.ts'
import { mapValues } from '../../core/map-values.ts'
import { OPENINGS, STREAMS } from '../../declarations.ts'

export type EventRule = {
  /** `<category>:<type>` */
  readonly event: string
  /** By table. */
  readonly columns: Readonly<Record<string, readonly string[]>>
  /** Of the rows of transactions. */
  readonly members: readonly string[]
  readonly follows: readonly string[]
  readonly leads_to: string | null
  readonly cancels_to: string | null
  readonly fee: 'reserved' | 'signed' | 'raised' | null
  readonly must_fit: boolean
}

/** One entry for each event type. */
export function eventRules(): readonly EventRule[] {
  return Object.entries(STREAMS).flatMap(([category, { events, rows, steps = {} }]) =>
    Object.keys(events).map((type) => {
      const changed = Object.entries(rows).flatMap(([table, rule]) => {
        const names = isOfStream(rule) ? rule.changes[type] : undefined
        return names === undefined ? [] : [[table, names]]
      })
      const columns: EventRule['columns'] = Object.fromEntries(changed)
      const step = steps[type]
      const opens = category === 'transaction' && type in OPENINGS
      return {
        event: `${category}:${type}`,
        columns,
        members: ['transaction_id', 'version', 'after_version', ...(columns.transactions ?? [])],
        follows: step?.from ?? [],
        leads_to: opens ? 'requested' : (step?.to ?? null),
        cancels_to: step?.cancelsTo ?? null,
        fee: opens ? 'reserved' : (step?.fee ?? null),
        must_fit: opens || step?.mustFit === true,
      }
    }),
  )
}

type RowRules = {
  readonly rules: readonly {
    readonly table: string
    readonly category: string
    readonly of: string
    readonly changes: Readonly<Record<string, readonly string[]>>
  }[]
  readonly chain: readonly string[]
  readonly content: readonly string[]
  readonly free: readonly string[]
}

/** The arguments of `create_row_checks`. */
export function rowRules(): RowRules {
  const declared = Object.entries(STREAMS).flatMap(([category, { rows }]) =>
    Object.entries(rows).map(([table, rule]) => ({ category, table, rule })),
  )
  const named = (is: (rule: RowDeclaration) => boolean) => [
    ...new Set(declared.flatMap(({ table, rule }) => (is(rule) ? [table] : []))),
  ]
  return {
    rules: declared.flatMap(({ category, table, rule }) =>
      isOfStream(rule) ? [{ table, category, of: rule.of, changes: mapValues(rule.changes, (names) => names) }] : [],
    ),
    chain: named((rule) => rule === 'chain'),
    content: named((rule) => typeof rule === 'object' && 'content' in rule),
    free: named((rule) => rule === 'free'),
  }
}

function isOfStream(rule: RowDeclaration): rule is Extract<RowDeclaration, { readonly of: string }> {
  return typeof rule === 'object' && 'of' in rule
}
