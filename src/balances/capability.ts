/** What balances do: they record what wallets hold. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { balanceAggregate } from './aggregate.ts'
import { balanceWork } from './jobs.ts'

export const balances: Capability = {
  aggregates: [anyAggregate(balanceAggregate)],
  publishes: async () => [(await import('./published.ts')).publishedBalances],
  work: [balanceWork],
  place: 20,
  routes: async () => (await import('./routes.ts')).balanceRoutes,
}
