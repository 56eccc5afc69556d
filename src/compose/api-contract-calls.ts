/** The route of contract calls and its dependencies. */

import type { CallPorts } from '../contract-calls/ports.ts'
import { createRequestCall } from '../contract-calls/request-call.ts'
import { contractCallRoutes } from '../contract-calls/routes.ts'
import { createTryCall } from '../contract-calls/try-call.ts'
import type { Routes } from '../http/request.ts'
import { isManagedCall } from '../nft/collections/is-managed.ts'
import { readTokensInTransfer } from '../nft/transfers/in-transfer.ts'
import type { ApiParts } from './api-parts.ts'
import { acceptedOrRepeated, counted } from './counted.ts'
import type { Kernel } from './kernel.ts'
import type { TransactionParts } from './transaction-parts.ts'

export function composeContractCallRoutes(
  kernel: Kernel,
  parts: ApiParts,
  { ports: own, reads, room }: TransactionParts,
): Routes {
  const { config, metrics } = kernel
  const ports = { ...own, ...room, ...callPorts(kernel, parts) }
  const count = (outcome: string) => metrics.countRequested({ kind: 'contract_call', outcome })
  return contractCallRoutes({
    requestCall: counted(createRequestCall(ports), count, acceptedOrRepeated),
    tryCall: createTryCall(ports),
    reads,
    signWaitMs: config.signWaitMs,
  })
}

/** What a call needs beside the parts of every transaction. */
export function callPorts(
  { pool, chainOf }: Kernel,
  { books }: ApiParts,
): Omit<CallPorts, keyof TransactionParts['ports'] | keyof TransactionParts['room']> {
  return {
    nodeOf: (chainId: number) => ({ client: chainOf(chainId).foreign, code: chainOf(chainId).code }),
    async tokensOf(tenantId: string, { chainId }: { readonly chainId: number }) {
      const { all } = await books.open(tenantId, chainOf(chainId).settings)
      return all.filter(({ contract }) => contract !== null)
    },
    isManaged: (chainId: number, call: { to: string; data: string }) => isManagedCall(pool, chainId, call),
    tokensInTransfer: ({ chainId, address }: { readonly chainId: number; readonly address: string }) =>
      readTokensInTransfer(pool, chainId, address),
  }
}
