/**
 * Liveness and readiness. The checks are bounded in time and cached for a second, so that probes cost the database
 * nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/ids.ts'

/** A check that takes longer has failed. */
const CHECK_TIMEOUT_MS = 2_000
/** How long a result is cached. */
const FRESH_MS = 1_000

/** A dependency of this process: `database`, `queue`, `signer`, `chain:ethereum`, `projections`. */
export type ReadinessCheck = {
  readonly name: string
  /** Resolves when the dependency works; rejects with an error whose message is the reason. */
  readonly check: () => Promise<void>
  /** One of several of which the process needs one: the others are served without it. */
  readonly isNetwork?: boolean
  /**
   * A problem that an operator should look at although the dependency works, or `null`. It never makes the process not
   * ready.
   */
  readonly warning?: () => Promise<string | null>
  /** What the dependency is like now, such as the fork of a chain. */
  readonly state?: () => Promise<string>
}

export type CheckResult = {
  readonly name: string
  readonly isNetwork: boolean
  readonly ok: boolean
  readonly why: string | null
  readonly warning: string | null
  readonly state: string | null
}

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

async function run({ name, check, isNetwork = false, warning, state }: ReadinessCheck): Promise<CheckResult> {
  const [why, warned, told] = await Promise.all([
    inTime(() => check().then(() => null)),
    warning === undefined ? null : inTime(warning),
    state === undefined ? null : inTime(state),
  ])
  return { name, isNetwork, ok: why === null, why, warning: warned, state: told }
}

/** The result of a check, or why there is none in time. */
async function inTime(question: () => Promise<string | null>): Promise<string | null> {
  const timeout = new AbortController()
  const tooLong = delay(CHECK_TIMEOUT_MS, `did not answer in ${CHECK_TIMEOUT_MS} ms`, { signal: timeout.signal })
  const answer = Promise.resolve().then(question).catch(reasonOf)
  const answered = await Promise.race([answer, tooLong.catch(() => null)])
  timeout.abort()
  return answered
}

/** The failures that make the process not ready; failed networks only when all of them failed. */
export function failuresOf(results: readonly CheckResult[]): readonly CheckResult[] {
  const failed = results.filter(({ ok }) => !ok)
  const hasNetwork = results.some(({ isNetwork, ok }) => isNetwork && ok)
  return hasNetwork ? failed.filter(({ isNetwork }) => !isNetwork) : failed
}

/** The body of `/readyz` of a process that is ready. */
export function readyBody(results: readonly CheckResult[]) {
  return {
    ready: true as const,
    degraded: results.some(({ ok, warning }) => !ok || warning !== null),
    checks: results.map(({ name, ok, why, warning, state }) => ({
      name,
      ok,
      ...(why === null ? {} : { why }),
      ...(state === null ? {} : { state }),
      ...(warning === null ? {} : { warning }),
    })),
  }
}

/** A refused connection to a name with several addresses has a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return message || code || String(error)
}
