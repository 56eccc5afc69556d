/** The declaration of contract calls: transactions whose call data the caller gives or describes. */
import type { Declaration } from '../core/declaration.ts'

export const contractCalls = {
  name: 'contract-calls',
  openings: {
    ContractCallRequested: { type: 'CONTRACT', writers: ['api'], since: 3, keepsLogs: true, takesMore: true },
  },
  intentParts: ['call'],
  errors: {
    validation_error: {
      ambiguous_function: 'Send the signature of the function: `details.candidates` has all of them.',
      call_reverts: 'Correct the call: `details.revert` has the decoded error. Or send `gas_limit`.',
      not_a_contract: 'Use the address of a contract that is deployed on this network.',
      not_payable: 'Omit `value`: the function is not payable.',
      own_address: 'Use the address of a contract, not of the wallet.',
      precompile: 'Use the address of a deployed contract.',
      selector_mismatch: 'Use call data of the function that is named, or omit the function.',
      unknown_function: 'Use a function of the ABI, or send its fragment.',
      use_transfer: 'Send native currency with the transfer route.',
      view_function: 'Use mode read or simulate: the function changes nothing.',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly 'contract-calls': typeof contractCalls
  }
}
