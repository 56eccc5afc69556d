/** What contract calls do, and what one may be. */
import type { Capability } from '../capability.ts'
import { callIntents } from '../policies/call-intents.ts'
import type { JudgedKindsOf } from '../policies/transaction-intents.ts'
import type { KindsOf } from '../transactions/kind-rules.ts'
import { foreignParts } from '../transactions/opening-rules.ts'
import type { contractCalls as declaration } from './declaration.ts'

const kinds: KindsOf<typeof declaration> = {
  ContractCallRequested: {
    rule(intent) {
      const { data, call, asset, subject } = intent
      if (data === null || call === undefined) return 'a contract call must record its call data and what it does'
      if (asset.contract !== null) return 'a contract call sends only the native currency'
      const selector = data.length < 10 ? null : data.slice(0, 10)
      if (call.selector !== selector) return 'the recorded function of the contract call differs from its call data'
      if (subject !== null) return 'a contract call belongs to no other resource'
      return foreignParts(intent, ['outflows', 'call'])
    },
  },
}

const judges: JudgedKindsOf<typeof declaration> = {
  ContractCallRequested: { intents: (data, facts) => callIntents(data, ['contract_call'], facts) },
}

export const contractCalls: Capability = {
  kinds,
  judges,
  place: 50,
  routes: async () => (await import('./routes.ts')).contractCallApi,
}
