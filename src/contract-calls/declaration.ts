/** The declaration of contract calls: transactions whose call data the caller gives or describes. */
import type { Declaration } from '../core/declaration.ts'

export const contractCalls = {
  name: 'contract-calls',
  openings: { ContractCallRequested: { type: 'CONTRACT', writers: ['api'], since: 3, keepsLogs: true } },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly 'contract-calls': typeof contractCalls
  }
}
