/** Takes the lock of a directory and keeps it until the process ends: `node lock-holder.ts <directory>`. */
import { Unavailable } from '../../src/core/errors.ts'
import { lockDirectory } from '../../src/keys/mpc/directory-lock.ts'

try {
  await lockDirectory({ directory: process.argv[2] ?? '', log: { warn: () => undefined } })
  process.stdout.write('held\n')
  process.stdin.resume()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  process.stdout.write(`${error.code}\n`)
}
