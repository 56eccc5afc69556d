/**
 * The stream of the limits of an API key: which of them were reached, and no rows. It is not that of the key, which is read
 * with each request. Pure.
 *
 * Invariant: a limit is reported at most once in its window, and at most once a day, however many requests are refused.
 */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { ApiKeyLimitReached } from './limit-events.ts'

/** When each limit was reported last, ISO 8601 UTC. A limit with another amount is another one. */
type LimitState = { readonly reachedAt: Readonly<Record<string, string>> }

type LimitCommand = { readonly type: 'ReportLimit'; readonly report: ApiKeyLimitReached['data'] }

const DAY_MS = 86_400_000

export const keyLimitAggregate: Aggregate<LimitState, LimitCommand, ApiKeyLimitReached> = {
  category: 'keylimit',
  schemas: { ApiKeyLimitReached: { version: 1, upcasters: [] } },
  initialState: { reachedAt: {} },
  decide({ report }, { reachedAt }) {
    const last = reachedAt[nameOf(report)]
    const isTold = last !== undefined && Date.parse(report.reachedAt) - Date.parse(last) < pauseMs(report)
    return isTold ? [] : [{ type: 'ApiKeyLimitReached', data: report }]
  },
  evolve: ({ reachedAt }, { data }) => ({ reachedAt: { ...reachedAt, [nameOf(data)]: data.reachedAt } }),
  project: () => ({ rows: [], holds: [] }),
}

/** From one report of a limit to the next, in ms. */
export function pauseMs({ limit }: Pick<ApiKeyLimitReached['data'], 'limit'>): number {
  return Math.max(limit.windowSeconds * 1_000, DAY_MS)
}

function nameOf({ limit: { counter, amount } }: ApiKeyLimitReached['data']): string {
  return `${counter} ${amount}`
}
