/** What the audit does: it serves events with their proofs. Nothing here can sign. */
import type { Capability } from '../capability.ts'

export const audit: Capability = { routes: async () => (await import('./build.ts')).buildAudit }
