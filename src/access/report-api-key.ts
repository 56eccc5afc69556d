/**
 * Revokes a key whose token somebody found, without a key of the caller's own. Who presents the token could use it, so that
 * revoking it is the least that it allows. Nothing is told of it: neither the answer nor the time that it takes depends on whether there
 * is such a key.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiKeyRows } from './api-key-rows.ts'
import type { revokeApiKey } from './revoke-api-key.ts'
import { digestOf, isToken } from './token.ts'

/** Longer than a revocation takes. An answer takes this long, or a multiple of it where the database is slow. */
const STEP_MS = 250

/**
 * Answers after the same time, whatever it finds.
 *
 * @throws Unavailable when the database does not answer
 */
export async function reportApiKey(
  ctx: {
    readonly keys: Pick<ApiKeyRows, 'byDigest'>
    readonly revoke: (keyId: string, context: Parameters<typeof revokeApiKey>[2]) => Promise<unknown>
    readonly wait?: (ms: number) => Promise<unknown>
  },
  token: string,
  requestId: string,
): Promise<void> {
  const { wait = (ms) => sleep(ms) } = ctx
  let isOver = false
  const handled = handle(ctx, token, requestId).finally(() => {
    isOver = true
  })
  // Its failure is awaited below, after the wait.
  handled.catch(() => undefined)
  do await wait(STEP_MS)
  while (!isOver)
  await handled
}

async function handle(
  { keys, revoke }: Pick<Parameters<typeof reportApiKey>[0], 'keys' | 'revoke'>,
  token: string,
  correlationId: string,
): Promise<void> {
  const key = isToken(token) ? await keys.byDigest(digestOf(token)) : undefined
  if (key !== undefined && key.revokedAt === null)
    await revoke(key.keyId, { actor: 'reporter', correlationId, reason: 'reported' })
}
