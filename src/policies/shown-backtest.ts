/** The result of a test on the past as clients see it. Pure. */
import { formatAmount } from '../core/money.ts'
import { USD_DECIMALS } from '../core/spend-limits.ts'
import type { Tally } from './backtest.ts'
import type { BacktestRun } from './run-backtest.ts'

export function shownBacktest({ result, read, readTo, isCut }: BacktestRun) {
  const { totals, rules, largest } = result
  return {
    events_read: read,
    truncated: isCut,
    tested_to: readTo,
    totals: verdictsOf(totals, { allowed: shownTally(totals.allowed) }),
    rules: rules.map(({ rule, effect, matched, ...tallies }) => ({
      rule,
      effect,
      matched,
      ...verdictsOf(tallies, {}),
    })),
    largest: largest.map(({ id, at, verdict, rules: by, usd }) => ({
      ...{ id, requested_at: at, verdict, rules: [...by] },
      usd: usd === null ? null : formatAmount(usd, USD_DECIMALS),
    })),
  }
}

type Tallies = { readonly denied: Tally; readonly limited: Tally; readonly needs_approval: Tally }

function verdictsOf<More>({ denied, limited, needs_approval }: Tallies, more: More) {
  return {
    ...more,
    denied: shownTally(denied),
    limited: shownTally(limited),
    needs_approval: shownTally(needs_approval),
  }
}

function shownTally({ requests, usd, unpriced }: Tally) {
  return { requests, usd: formatAmount(usd, USD_DECIMALS), unpriced }
}
