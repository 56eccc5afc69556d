/** Ends as a process does whose directory hangs: `node hanging-directory.ts <path of a FIFO>`. */
import { readFile } from 'node:fs/promises'
import { exitAfter } from '../../src/cli/exit-after.ts'
import { requireUsableDirectory } from '../../src/keys/usable-directory.ts'

const [, , fifo = ''] = process.argv
try {
  await requireUsableDirectory(fifo, 'DATA_DIR', { writes: true, patienceMs: 50, attempt: () => readFile(fifo) })
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  exitAfter(error)
}
