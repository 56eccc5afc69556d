// Puts the temporary files of tests, their databases above all, into memory where the system has room for them: a file
// system on disk takes more processor time to create and remove the 300 files of each database than its test takes.
// TMPDIR=<directory> chooses another place. Processes that a test starts inherit the choice.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
/** Several clusters with their logs, for two or three test files at a time. */
const ENOUGH_BYTES = 4 * 2 ** 30

/** @returns {boolean} whether programs may be started from there, as from /tmp, and it has room */
function isUsable() {
  try {
    accessSync(MEMORY, constants.W_OK)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const [, , type, options = ''] = mounts.findLast((line) => line.split(' ')[1] === MEMORY)?.split(' ') ?? []
    const { bavail, bsize } = statfsSync(MEMORY)
    const free = Math.min(bavail * bsize, process.availableMemory?.() ?? 0)
    return type === 'tmpfs' && !options.split(',').includes('noexec') && free >= ENOUGH_BYTES
  } catch {
    return false // Not Linux, or not mounted.
  }
}

if (process.env.TMPDIR === undefined && isUsable()) process.env.TMPDIR = MEMORY
