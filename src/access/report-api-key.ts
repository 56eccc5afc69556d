/**
 * Revokes a key whose token somebody found, without a key of the caller's own. Who presents the token could use it, so that
 * revoking it is the least that it allows. Nothing is told of it: neither the answer nor the time that it takes depends on whether there
 * is such a key.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiKeyRows } from './api-key-rows.ts'
import type { RevokeApiKey } from './revoke-api-key.ts'
import { digestOf, isToken } from './token.ts'

/** Longer than a revocation takes. An answer takes this long, or a multiple of it where the database is slow. */
const STEP_MS = 250

/** @throws Unavailable when the database does not answer */
export type ReportApiKey = (token: string, requestId: string) => Promise<void>

export function createReportApiKey({
  keys,
  revoke,
  wait = (ms) => sleep(ms),
}: {
  readonly keys: Pick<ApiKeyRows, 'byDigest'>
  readonly revoke: RevokeApiKey
  readonly wait?: (ms: number) => Promise<unknown>
}): ReportApiKey {
  async function handle(token: string, correlationId: string): Promise<void> {
    const key = isToken(token) ? await keys.byDigest(digestOf(token)) : undefined
    if (key !== undefined && key.revokedAt === null)
      await revoke(key.keyId, { actor: 'reporter', correlationId, reason: 'reported' })
  }

  return async (token, requestId) => {
    let isOver = false
    const handled = handle(token, requestId).finally(() => {
      isOver = true
    })
    // Its failure is awaited below, after the wait.
    handled.catch(() => undefined)
    do await wait(STEP_MS)
    while (!isOver)
    await handled
  }
}
