/** What the audit does: it serves events with their proofs. Nothing here can sign. */
import type { Capability } from '../capability.ts'
import { anchorRules } from './anchor/opening-rules.ts'
import { auditGauges } from './gauges.ts'

export const audit: Capability = {
  openingRules: anchorRules,
  gauges: auditGauges,
  routes: async () => (await import('./build.ts')).buildAudit,
}
