/** `npm run bursar -- audit verify`, run like an operator does: hash chains, tree, and every signed checkpoint. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../../dist/bin/bursar.js', import.meta.url))

/** The command's report of what is wrong with the log; empty when it is intact. */
export async function operatorVerifies(databaseUrl: string, dataDir: string): Promise<string[]> {
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, DATA_DIR: dataDir }
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, 'audit', 'verify', '--json'], { env }, (error, stdout, stderr) =>
      resolve(error === null ? [] : [`audit verify: exit ${error.code}: ${stdout}${stderr}`]),
    )
  })
}
