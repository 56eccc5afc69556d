/** Judging where there are no policies. */
import type { Judge } from '../../src/policies/judge.ts'

export const JUDGES_NOTHING: Judge = {
  transaction: async () => ({}),
  signature: async () => ({}),
  export: async () => ({}),
  voucher: async () => ({}),
  keyChange: async () => ({}),
  isActive: async () => false,
  rulesTypedData: async () => false,
  shadowed: () => [],
}
