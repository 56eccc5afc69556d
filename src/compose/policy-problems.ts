/** What is wrong with how a request of each kind was judged by the policy of the log: for whoever signs it. */
import type { Opening } from '../core/registry.ts'
import { TRANSACTION_TYPES } from '../declarations.ts'
import type { Opened } from '../event-log/load-checked.ts'
import type { VoucherProblem } from '../nft/tokens/sign-voucher.ts'
import type { CheckRequests, RecordedRequest } from '../policies/check-requests.ts'
import { judgedExport, judgedSignature, judgedVoucher } from '../policies/signature-intents.ts'
import { judgedTransaction } from '../policies/transaction-intents.ts'
import type { ExportProblem } from '../recovery/seal-export.ts'
import type { SignatureProblem } from '../signatures/sign-recorded.ts'
import type { PolicyProblems } from '../transactions/check-recorded.ts'
import { readReservation } from '../transactions/read-events.ts'
import { JUDGED_KINDS } from './capabilities.ts'

const OPENING_OF = new Map(Object.entries(TRANSACTION_TYPES).map(([opening, type]) => [type, opening as Opening]))

export function transactionProblems(check: CheckRequests): PolicyProblems {
  return (openings) =>
    check(
      openings.map(({ transaction: { type, intent }, ...opened }) => ({
        ...requestOf(opened, intent),
        reservations: intent.reservations,
        judge(facts) {
          const opening = OPENING_OF.get(type)
          if (opening === undefined) throw new Error(`no opening event has the type ${type}`)
          return judgedTransaction(JUDGED_KINDS, { type: opening, data: intent }, facts)
        },
      })),
    )
}

export function signatureProblem(check: CheckRequests): SignatureProblem {
  return async ({ id, opened, state }) => {
    const { wish } = state
    const { tenantId, environment, requestedAt, walletId, network, chainId } = wish
    const place = { tenantId, environment, requestedAt, walletId, network, chainId }
    const signed = state.type === 'message' ? { message: state.wish.message } : { typedData: state.wish.typedData }
    return problemOf(check, {
      ...requestOf({ id, ...opened }, wish),
      reservations: wish.reservations?.map(readReservation),
      judge: (facts) => judgedSignature({ ...place, ...signed }, facts),
    })
  }
}

export function voucherProblem(check: CheckRequests): VoucherProblem {
  return async ({ id, mint: { tenantId }, voucher, ...opened }, { environment, network }) => {
    const { walletId, chainId, contract, recipient, requestedAt, policy } = voucher
    const place = { tenantId, environment, walletId, requestedAt }
    return problemOf(check, {
      ...requestOf({ id, ...opened }, { ...place, policy }),
      reservations: voucher.reservations?.map(readReservation),
      judge: (facts) => judgedVoucher({ ...place, network, chainId, contract, recipient }, facts),
    })
  }
}

export function exportProblem(check: CheckRequests): ExportProblem {
  return async ({ id, opened, state }, { network, chainId }) =>
    problemOf(check, {
      ...requestOf({ id, ...opened }, state),
      reservations: state.reservations?.map(readReservation),
      judge: (facts) => judgedExport({ ...state, network, chainId }, facts),
    })
}

async function problemOf(check: CheckRequests, request: RecordedRequest): Promise<string | null> {
  return (await check([request])).get(request.id) ?? null
}

function requestOf(
  { id, position, actor, newestOfPolicy }: Opened & Pick<RecordedRequest, 'id' | 'newestOfPolicy'>,
  {
    tenantId,
    environment,
    walletId,
    requestedAt,
    policy,
  }: Omit<RecordedRequest, 'id' | 'position' | 'newestOfPolicy' | 'actor' | 'reservations' | 'judge'>,
): Omit<RecordedRequest, 'reservations' | 'judge'> {
  return { id, position, newestOfPolicy, actor, tenantId, environment, walletId, requestedAt, policy }
}
