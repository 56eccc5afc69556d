/** What policies do: they keep the drafts and versions of each tenant. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { foundAggregate, policyAggregate, policyDenialAggregate, seedingAggregate } from './aggregate.ts'
import { foundTask } from './count-found.ts'
import type { SpendFound } from './events.ts'
import { explainedPolicy } from './explained.ts'
import { seedingTask } from './seed-counters.ts'
import { transactionIntents } from './transaction-intents.ts'

export const policies: Capability = {
  aggregates: [
    anyAggregate(policyAggregate),
    anyAggregate(policyDenialAggregate),
    anyAggregate(seedingAggregate),
    anyAggregate(foundAggregate),
  ],
  async publishes() {
    const { publishedPolicies, publishedRefusals } = await import('./published.ts')
    return [publishedPolicies, publishedRefusals]
  },
  explains: [explainedPolicy],
  judges: transactionIntents,
  tasks: [seedingTask, foundTask],
  place: 90,
  routes: async () => (await import('./past-routes.ts')).policyApi,
  past: {
    passing: {
      SpendFound: (found: SpendFound['data']) => [{ is: 'found', requestedAt: found.sentAt, found }],
    },
  },
}
