/**
 * A Go program that verifies deliveries with the library of Standard Webhooks. Without Go the tests that need it are
 * skipped with a message; under CI that is a failure.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'

/** `.ci/run` installs the first one where the second is missing or too old. */
const CANDIDATES = ['node_modules/.cache/python/bin/go', 'go']

const MODULE = 'github.com/standard-webhooks/standard-webhooks/libraries v0.0.1'
const SUMS = `${MODULE} h1:uOfcYT+3QungH6tIGSVCR/Y3KJmgJiHcojJbMTPDZAI=
${MODULE}/go.mod h1:L1MQhA6x4dn9r007T033lsaZMv9EmBAdXyU/+EF40fo=
`

/** The path of the compiled program. Null, after reporting why, if there is no Go that can compile it. */
export function buildWebhookGo(t: Test, source: string): string | null {
  const go = CANDIDATES.find((program) => spawnSync(program, ['version']).status === 0)
  const reason = go === undefined ? 'there is no Go (version 1.21 or later)' : build(go)
  if (reason === null) return join(t.testdirName, 'verify')
  if (process.env.CI) throw new Error(`the tests with Go must run in CI: ${reason}`)
  process.stderr.write(`SKIPPED: the tests with Go: ${reason}\n`)
  return null

  /** Fetches the library, unless it is in Go's cache. @returns why it failed */
  function build(program: string): string | null {
    const files = { 'go.mod': `module verify\n\ngo 1.21.0\n\nrequire ${MODULE}\n`, 'go.sum': SUMS, 'main.go': source }
    const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' }
    const args = ['build', '-C', t.testdir(files), '-buildvcs=false', '-o', 'verify', '.']
    const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
    return status === 0 ? null : stderr
  }
}
