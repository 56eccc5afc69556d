// Runs one built entry point, after building what changed: `node scripts/run.mjs signer …arguments`.

import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs in the same process, so that signals and the exit code need no forwarding. The entry gets its own name as
 * `argv[1]`. The build runs in another process: this one would keep the 30 MB that it takes.
 *
 * @param {string} entry its name in dist/bin, without extension
 * @param {readonly string[]} args the arguments after the name
 */
export async function runBuilt(entry, args) {
  const built = spawnSync(process.execPath, [`${root}scripts/build.mjs`], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (built.status !== 0) process.exit(1)
  const path = `${root}dist/bin/${entry}.js`
  process.argv = [process.execPath, path, ...args]
  await import(pathToFileURL(path).href)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [entry, ...args] = process.argv.slice(2)
  if (entry === undefined) throw new Error('usage: node scripts/run.mjs <entry> […arguments]')
  await runBuilt(entry, args)
}
