/** The requests that a policy can be simulated with: each is prepared as the real one, with parts that record nothing. */
import type { Static, TSchema } from '@sinclair/typebox'
import { requestCall } from '../contract-calls/request-call.ts'
import { toCall } from '../contract-calls/routes.ts'
import { contractCallBody } from '../contract-calls/schemas.ts'
import type { SimulatedRequest } from '../policies/past-routes.ts'
import type { Prepare, Pretending } from '../policies/simulate.ts'
import { requestSignature, type Wanted } from '../signatures/request-signature.ts'
import { toMessage, toTypedData } from '../signatures/routes.ts'
import { messageBody, typedDataBody } from '../signatures/schemas.ts'
import { requestSwap, type SwapContext } from '../swaps/request-swap.ts'
import { swapBody } from '../swaps/schemas.ts'
import { toOrder } from '../swaps/swap-routes.ts'
import { transfersBody } from '../transactions/batch-schemas.ts'
import { requestTransfer, requestTransfers } from '../transactions/request-transfer.ts'
import { transferBody } from '../transactions/schemas.ts'
import { toBatch, toTransfer } from '../transactions/transfer-routes.ts'
import type { ComposedApi } from './api-context.ts'

export function simulatedRequests(
  ctx: ComposedApi,
  { quoteSwap }: Pick<SwapContext, 'quoteSwap'>,
): Readonly<Record<string, SimulatedRequest>> {
  /** Limits of the key of the caller are not simulated. */
  const pretended = ({ accept, judge }: Pretending) => ({
    ...ctx,
    accept,
    limitsOf: async () => [],
    judgeTransaction: judge.transaction,
  })
  const signed =
    (wanted: Wanted, walletId: string): Prepare =>
    ({ accept, judge }, metadata, environment) => {
      const config = { ...ctx.config, spendingTypedData: 'allow' } as const
      return requestSignature({ ...ctx, config, accept, judge }, { environment, walletId, wanted }, metadata)
    }
  return {
    transfer: requestOf(
      transferBody,
      (walletId, body) =>
        (pretending, ...asked) =>
          requestTransfer(pretended(pretending), toTransfer(walletId, body), ...asked),
    ),
    transfers: requestOf(
      transfersBody,
      (walletId, body) =>
        (pretending, ...asked) =>
          requestTransfers(pretended(pretending), toBatch(walletId, body), ...asked),
    ),
    contract_call: requestOf(
      contractCallBody,
      (walletId, body) =>
        (pretending, ...asked) =>
          requestCall(pretended(pretending), toCall(walletId, body), ...asked),
    ),
    swap: requestOf(swapBody, (walletId, body) => (pretending, ...asked) => {
      const swapping = { ...pretended(pretending), quoteSwap, keepQuote: async () => undefined }
      return requestSwap(swapping, toOrder(walletId, body), ...asked)
    }),
    sign_message: requestOf(messageBody, (walletId, body) => signed(toMessage(body), walletId)),
    sign_typed_data: requestOf(typedDataBody, (walletId, body) => signed(toTypedData(body), walletId)),
  }
}

function requestOf<Body extends TSchema>(
  body: Body,
  prepare: (walletId: string, body: Static<Body>) => Prepare,
): SimulatedRequest {
  return { body, prepare }
}
