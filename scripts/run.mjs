// Runs one built entry point, after building what changed: `node scripts/run.mjs signer …arguments`.

import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs in the same process, so that signals and the exit code need no forwarding. The entry gets its own name as
 * `argv[1]`.
 *
 * @param {string} entry its name in dist/bin, without extension
 * @param {readonly string[]} args the arguments after the name
 */
export async function runBuilt(entry, args) {
  try {
    await build(root)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
  const path = `${root}dist/bin/${entry}.js`
  process.argv = [process.execPath, path, ...args]
  await import(pathToFileURL(path).href)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [entry, ...args] = process.argv.slice(2)
  if (entry === undefined) throw new Error('usage: node scripts/run.mjs <entry> […arguments]')
  await runBuilt(entry, args)
}
