/** What the plans of statements read. */
import type { Pool } from 'pg'

export type Statement = { readonly name?: string; readonly text: string; readonly values?: unknown[] }

export type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly Plan[]
}

/** A pool that records each named statement. */
export function noting(pool: Pool, onAsked: (statement: Statement) => void = () => undefined) {
  const noted = new Map<string, Statement>()
  const spy = new Proxy(pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key)
      return (statement: Statement | string, values?: unknown[]) => {
        const asked = typeof statement === 'string' ? { text: statement, ...(values ? { values } : {}) } : statement
        noted.set(asked.name ?? asked.text, asked)
        onAsked(asked)
        return target.query(asked)
      }
    },
  })
  return { spy, noted }
}

/** Which of these tables it goes through. */
export function readWhole(plan: Plan, tables: readonly string[]): string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? ''] : []
  return [...own, ...(plan.Plans ?? []).flatMap((one) => readWhole(one, tables))].filter((name) =>
    tables.includes(name),
  )
}

/** Rows of the node that read the most, with those that it left out. */
export function mostRead(plan: Plan): number {
  const own = ((plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)) * (plan['Actual Loops'] ?? 1)
  return Math.max(own, ...(plan.Plans ?? []).map(mostRead))
}

/** A pool that records each statement, also equal ones. */
export function listing(pool: Pool): { readonly spy: Pool; readonly asked: Statement[] } {
  const asked: Statement[] = []
  const { spy } = noting(pool, (statement) => void asked.push(statement))
  return { spy, asked }
}

/** Rows of a table that a plan has looked at, with those that it left out. */
export function rowsRead(plan: Plan, table: string): number {
  const looked =
    (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const own = plan['Relation Name'] === table ? looked * (plan['Actual Loops'] ?? 1) : 0
  return (plan.Plans ?? []).reduce((sum, one) => sum + rowsRead(one, table), own)
}
