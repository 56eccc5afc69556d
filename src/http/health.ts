/**
 * Whether the process lives, and whether it can do its work. The checks are bounded in time and shared by all who ask
 * within a second, so that asking costs the database nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/ids.ts'

/** A check that takes longer has failed. */
const CHECK_TIMEOUT_MS = 2_000
/** How long an answer is shared. */
const FRESH_MS = 1_000

/** One thing that this process needs: `database`, `queue`, `signer`, `chain:ethereum`, `projections`. */
export type ReadinessCheck = {
  readonly name: string
  /** Resolves when the thing works; rejects with an error whose message says why not. */
  readonly check: () => Promise<void>
}

export type CheckResult = { readonly name: string; readonly ok: boolean; readonly why: string | null }

/** Runs all checks at once. Never rejects. */
export type Readiness = () => Promise<readonly CheckResult[]>

export function createReadiness(checks: readonly ReadinessCheck[], clock: Clock): Readiness {
  let latest: Promise<readonly CheckResult[]> = Promise.resolve([])
  let startedAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock()
    if (now - startedAt >= FRESH_MS) {
      startedAt = now
      latest = Promise.all(checks.map(run))
    }
    return latest
  }
}

async function run({ name, check }: ReadinessCheck): Promise<CheckResult> {
  const timeout = new AbortController()
  const tooLong = delay(CHECK_TIMEOUT_MS, `did not answer in ${CHECK_TIMEOUT_MS} ms`, { signal: timeout.signal })
  const answer = Promise.resolve()
    .then(check)
    .then(() => null)
    .catch(reasonOf)
  const why = await Promise.race([answer, tooLong.catch(() => null)])
  timeout.abort()
  return { name, ok: why === null, why }
}

/** A refused connection to a name with several addresses has a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return message || code || String(error)
}
