/**
 * The standard age program, for tests of files that it must be able to read. Without it they are skipped with a
 * message; under CI that is a failure.
 */
import { execFileSync, spawnSync } from 'node:child_process'

/** Opens an age file, given as bytes, with an identity file. */
export type AgeProgram = (identityFile: string, file: Uint8Array) => string

/** Null, after reporting that there is none. */
export function findAge(): AgeProgram | null {
  if (spawnSync('age', ['--version']).status === 0) {
    return (identityFile, file) =>
      execFileSync('age', ['--decrypt', '--identity', identityFile], { input: file, encoding: 'utf8' })
  }
  const reason = 'no age program on the PATH'
  if (process.env.CI) throw new Error(`the tests with the age program must run in CI: ${reason}`)
  process.stderr.write(`SKIPPED: the tests with the age program: ${reason}\n`)
  return null
}
