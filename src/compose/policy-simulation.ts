/** The requests that a policy can be simulated with: each is prepared as the real one, with parts that record nothing. */
import type { Static, TSchema } from '@sinclair/typebox'
import { createRequestCall } from '../contract-calls/request-call.ts'
import { toCall } from '../contract-calls/routes.ts'
import { contractCallBody } from '../contract-calls/schemas.ts'
import type { SimulatedRequest } from '../policies/past-routes.ts'
import type { Prepare, Pretending, SimulatePorts } from '../policies/simulate.ts'
import { createRequestSignature, type Wanted } from '../signatures/request-signature.ts'
import { toMessage, toTypedData } from '../signatures/routes.ts'
import { messageBody, typedDataBody } from '../signatures/schemas.ts'
import { createRequestSwap } from '../swaps/request-swap.ts'
import { swapBody } from '../swaps/schemas.ts'
import { toOrder } from '../swaps/swap-routes.ts'
import { transfersBody } from '../transactions/batch-schemas.ts'
import { readSpent } from '../transactions/read-spent.ts'
import { createRequestTransfer } from '../transactions/request-transfer.ts'
import { createRequestTransfers } from '../transactions/request-transfers.ts'
import { transferBody } from '../transactions/schemas.ts'
import { toBatch, toTransfer } from '../transactions/transfer-routes.ts'
import { callPorts } from './api-contract-calls.ts'
import type { ApiParts } from './api-parts.ts'
import type { OwnSwapPorts } from './api-swaps.ts'
import type { Kernel } from './kernel.ts'
import type { TransactionParts } from './transaction-parts.ts'

export function composeSimulation(
  kernel: Kernel,
  parts: ApiParts,
  transactions: TransactionParts,
  swaps: OwnSwapPorts,
): { readonly requests: Readonly<Record<string, SimulatedRequest>>; readonly simulation: SimulatePorts } {
  const calls = callPorts(kernel, parts)
  /** Limits of the key of the caller are not simulated. */
  const pretended = ({ accept, judge }: Pretending) => ({
    ...transactions.ports,
    accept,
    limitsOf: async () => [],
    judgeTransaction: judge.transaction,
  })
  const { log, newId, pool } = kernel
  const { findWallet, isManaged, policies } = parts
  const signed =
    (wanted: Wanted, walletId: string): Prepare =>
    ({ accept, judge }, metadata, environment) => {
      const ports = { log, accept, newId, findWallet, isManaged, judge: judge.signature }
      const request = createRequestSignature({ ...ports, refusesSpending: async () => false })
      return request({ environment, walletId, wanted }, metadata)
    }
  return {
    simulation: {
      judgeBy: policies.judgeBy,
      inForce: policies.inForce.of,
      readSpent: (reservations, now) => readSpent(pool, reservations, now),
    },
    requests: {
      transfer: requestOf(
        transferBody,
        (walletId, body) =>
          (pretending, ...asked) =>
            createRequestTransfer(pretended(pretending))(toTransfer(walletId, body), ...asked),
      ),
      transfers: requestOf(
        transfersBody,
        (walletId, body) =>
          (pretending, ...asked) =>
            createRequestTransfers(pretended(pretending))(toBatch(walletId, body), ...asked),
      ),
      contract_call: requestOf(
        contractCallBody,
        (walletId, body) =>
          (pretending, ...asked) =>
            createRequestCall({ ...pretended(pretending), ...transactions.room, ...calls })(
              toCall(walletId, body),
              ...asked,
            ),
      ),
      swap: requestOf(swapBody, (walletId, body) => (pretending, ...asked) => {
        const ports = { ...pretended(pretending), ...swaps, keepQuote: async () => undefined }
        return createRequestSwap(ports)(toOrder(walletId, body), ...asked)
      }),
      sign_message: requestOf(messageBody, (walletId, body) => signed(toMessage(body), walletId)),
      sign_typed_data: requestOf(typedDataBody, (walletId, body) => signed(toTypedData(body), walletId)),
    },
  }
}

function requestOf<Body extends TSchema>(
  body: Body,
  prepare: (walletId: string, body: Static<Body>) => Prepare,
): SimulatedRequest {
  return { body, prepare }
}
