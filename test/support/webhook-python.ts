/**
 * A Python with the library of Standard Webhooks. Without it the tests that need it are skipped with a message; under CI
 * that is a failure.
 */
import { spawnSync } from 'node:child_process'

/** `.ci/run` makes the first one. */
const CANDIDATES = ['node_modules/.cache/python/bin/python', 'python3']

/** Null, after reporting that there is none. */
export function findWebhookPython(): string | null {
  const found = CANDIDATES.find((program) => spawnSync(program, ['-c', 'import standardwebhooks']).status === 0)
  if (found !== undefined) return found
  const reason = 'no Python with the package standardwebhooks (python3 -m pip install standardwebhooks)'
  if (process.env.CI) throw new Error(`the tests with Python must run in CI: ${reason}`)
  process.stderr.write(`SKIPPED: the tests with Python: ${reason}\n`)
  return null
}
