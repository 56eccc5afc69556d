/**
 * The stream of the limits of an API key: which of them were reached, and no rows. It is not that of the key, which is read
 * with each request. Pure.
 *
 * Invariant: a limit is reported at most once in its window, and at most once a day, however many requests are refused; one of
 * requests once on each day (UTC) that it refuses some.
 */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { ApiKeyLimitReached } from './limit-events.ts'

/** When each limit was reported last, as `timeOf`. A limit with another amount is another one. */
type LimitState = { readonly reachedAt: Readonly<Record<string, string>> }

type LimitCommand = { readonly type: 'ReportLimit'; readonly report: ApiKeyLimitReached['data'] }

const DAY_MS = 86_400_000

export const keyLimitAggregate: Aggregate<LimitState, LimitCommand, ApiKeyLimitReached> = {
  category: 'keylimit',
  schemas: { ApiKeyLimitReached: { version: 1, upcasters: [] } },
  initialState: { reachedAt: {} },
  decide({ report }, { reachedAt }) {
    const last = reachedAt[nameOf(report)]
    const isTold = last !== undefined && Date.parse(timeOf(report)) - Date.parse(last) < pauseMs(report)
    return isTold ? [] : [{ type: 'ApiKeyLimitReached', data: report }]
  },
  evolve: ({ reachedAt }, { data }) => ({ reachedAt: { ...reachedAt, [nameOf(data)]: timeOf(data) } }),
  project: () => ({ rows: [], holds: [] }),
}

/** ISO 8601 UTC. Of requests: the end of the day, by the clock that counts them. */
function timeOf({ limit, availableAt, reachedAt }: ApiKeyLimitReached['data']): string {
  return limit.of === 'requests' ? (availableAt ?? reachedAt) : reachedAt
}

/** From one report of a limit to the next, in ms. */
function pauseMs({ limit }: Pick<ApiKeyLimitReached['data'], 'limit'>): number {
  return Math.max(limit.windowSeconds * 1_000, DAY_MS)
}

function nameOf({ limit: { counter, amount } }: ApiKeyLimitReached['data']): string {
  return `${counter} ${amount}`
}
