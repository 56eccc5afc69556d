/** The routes of key shares, with their use cases. */
import type { ApiContext } from '../api-context.ts'
import { createSharesReads } from './read-shares.ts'
import { createRequestRefresh } from './request-refresh.ts'
import { shareRoutes } from './routes.ts'
import { createUntilRefreshed } from './wait-for-refresh.ts'

type Needs = Pick<ApiContext, 'log' | 'pool' | 'wakeUps' | 'newId' | 'accept' | 'findWallet'>

export function buildShares({ log, pool, wakeUps, newId, accept, findWallet }: Needs) {
  return shareRoutes({
    findWallet,
    requestRefresh: createRequestRefresh({ log, accept, newId }),
    reads: createSharesReads(pool),
    untilRefreshed: createUntilRefreshed(pool, wakeUps),
  })
}
