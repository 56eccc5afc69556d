/** What is wrong with how transactions were judged by the policy of the log: for whoever signs them. */
import type { Opening } from '../core/registry.ts'
import { TRANSACTION_TYPES } from '../declarations.ts'
import type { CheckRequests } from '../policies/check-requests.ts'
import { recordedRequest } from '../policies/recorded-problem.ts'
import { judgedTransaction } from '../policies/transaction-intents.ts'
import type { PolicyProblems } from '../transactions/check-recorded.ts'
import { JUDGED_KINDS } from './capabilities.ts'

const OPENING_OF = new Map(Object.entries(TRANSACTION_TYPES).map(([opening, type]) => [type, opening as Opening]))

export function transactionProblems(check: CheckRequests): PolicyProblems {
  return (openings) =>
    check(
      openings.map(({ transaction: { type, intent }, ...opened }) => ({
        ...recordedRequest(opened, intent),
        reservations: intent.reservations,
        judge(facts) {
          const opening = OPENING_OF.get(type)
          if (opening === undefined) throw new Error(`no opening event has the type ${type}`)
          return judgedTransaction(JUDGED_KINDS, { type: opening, data: intent }, facts)
        },
      })),
    )
}
