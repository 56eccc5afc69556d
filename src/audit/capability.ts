/** What the audit does: it serves events with their proofs. Nothing here can sign. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { type JudgedKindsOf, MOVES_NOTHING } from '../policies/transaction-intents.ts'
import { anchorKinds } from './anchor/opening-rules.ts'
import { createCheckpointFile } from './checkpoints/checkpoint-file.ts'
import { createFindMissing, missingFile } from './checkpoints/find-missing.ts'
import type { audit as declaration } from './declaration.ts'
import { auditGauges } from './gauges.ts'
import { setAsideAggregate } from './set-aside/aggregate.ts'

export const audit: Capability = {
  judges: { CheckpointAnchorRequested: MOVES_NOTHING } satisfies JudgedKindsOf<typeof declaration>,
  kinds: anchorKinds,
  aggregates: [anyAggregate(setAsideAggregate)],
  gauges: auditGauges,
  openEvidence: async (...given) => (await import('./verify/signed-evidence.ts')).openEvidence(...given),
  outsideStates: (ctx) => ({
    findMissing: createFindMissing(ctx.pool, createCheckpointFile(ctx.config.audit.checkpointFile)),
    problem: () => missingFile(ctx),
  }),
  forOperators: () => import('./for-operators.ts'),
  routes: async () => (await import('./routes.ts')).auditRoutes,
}
