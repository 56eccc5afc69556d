/** What policies do: they keep the drafts and versions of each tenant. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { policyAggregate } from './aggregate.ts'
import { foundTask } from './count-found.ts'
import { policyDenialAggregate } from './denial-aggregate.ts'
import { explainedPolicy } from './explained.ts'
import { foundAggregate } from './found-aggregate.ts'
import type { SpendFound } from './found-events.ts'
import { seedingTask } from './seed-counters.ts'
import { seedingAggregate } from './seeding-aggregate.ts'

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
  tasks: [seedingTask, foundTask],
  past: {
    passing: {
      SpendFound: (found: SpendFound['data']) => [{ is: 'found', requestedAt: found.sentAt, found }],
    },
  },
}
