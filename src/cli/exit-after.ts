/** Ends a process whose error line was printed. */
import { DirectoryHangs } from '../core/errors.ts'

/**
 * `process.exit` waits for running system calls, and those of a directory that hangs do not end: such a process kills
 * itself.
 */
export function exitAfter(error: unknown): never {
  if (error instanceof DirectoryHangs) process.kill(process.pid, 'SIGKILL')
  process.exit(1)
}
