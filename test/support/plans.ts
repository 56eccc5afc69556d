/** What the plans of statements read. */
import type { Pool } from 'pg'

export type Statement = { readonly name?: string; readonly text: string; readonly values?: unknown[] }

export type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly Plan[]
}

/** A pool that records each named statement. */
export function noting(pool: Pool) {
  const noted = new Map<string, Statement>()
  const spy = new Proxy(pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key)
      return (statement: Statement | string, values?: unknown[]) => {
        const asked = typeof statement === 'string' ? { text: statement, ...(values ? { values } : {}) } : statement
        noted.set(asked.name ?? asked.text, asked)
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
