/**
 * The stream of what a policy refused: no state and no rows. It can be long: append to its head, and do not load it. Pure.
 */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { PolicyRefused } from './denial-events.ts'

type DenialCommand = { readonly type: 'ReportRefusals'; readonly report: PolicyRefused['data'] }

export const policyDenialAggregate: Aggregate<null, DenialCommand, PolicyRefused> = {
  category: 'policydenials',
  schemas: { PolicyRefused: { version: 1, upcasters: [] } },
  initialState: null,
  decide: ({ report }) => [{ type: 'PolicyRefused', data: report }],
  evolve: (state) => state,
  project: () => ({ rows: [], holds: [] }),
}
