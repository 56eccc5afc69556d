/** The routes of signatures, with their use cases. */
import type { ApiContext } from '../api-context.ts'
import { createSignatureReads } from './read-signatures.ts'
import { createRequestSignature } from './request-signature.ts'
import { signatureRoutes } from './routes.ts'
import { createWaitForSignature } from './wait-for-signature.ts'

type Needs = Pick<
  ApiContext,
  'log' | 'logger' | 'pool' | 'wakeUps' | 'newId' | 'accept' | 'findWallet' | 'isManaged' | 'judge'
> & {
  readonly config: Pick<ApiContext['config'], 'spendingTypedData' | 'sandbox'>
}

export function buildSignatures({
  log,
  logger,
  pool,
  wakeUps,
  newId,
  accept,
  findWallet,
  isManaged,
  judge,
  config,
}: Needs) {
  const { spendingTypedData, sandbox } = config
  if (spendingTypedData !== null)
    logger.warn(
      { setting: 'SIGN_SPENDING_TYPED_DATA' },
      'this setting goes away: a policy says what typed data is signed, and without one what lets others spend is refused',
    )
  return signatureRoutes({
    requestSignature: createRequestSignature({
      ...{ log, accept, newId, findWallet, isManaged },
      judge: judge.signature,
      // Such a signature is worth a transfer, which `signatures:write` does not allow. The sandbox has nothing to lose.
      refusesSpending: async (owner) =>
        spendingTypedData === null ? !sandbox && !(await judge.rulesTypedData(owner)) : spendingTypedData === 'refuse',
    }),
    findWallet,
    reads: createSignatureReads(pool),
    waitForSignature: createWaitForSignature({ pool, wakeUps }),
  })
}
