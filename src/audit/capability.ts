/** What the audit does: it serves events with their proofs. Nothing here can sign. */
import type { Capability } from '../capability.ts'
import { auditGauges } from './gauges.ts'

export const audit: Capability = {
  gauges: auditGauges,
  routes: async () => (await import('./build.ts')).buildAudit,
}
