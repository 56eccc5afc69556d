// Generates the Prisma client in src/generated/prisma from prisma/schema.prisma, without downloads: `generate` only
// checks that the schema engine exists and never runs it. Does nothing when the schema is unchanged.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fingerprint } from './fingerprint.mjs'

const require = createRequire(import.meta.url)

/**
 * @param {string} root the project's folder
 * @returns {boolean} whether the client was generated
 * @throws {Error} when Prisma refuses the schema, with Prisma's message
 */
export function generatePrisma(root) {
  const output = join(root, 'src/generated/prisma')
  const stamp = join(output, '.fingerprint')
  const { version } = require('prisma/package.json')
  const wanted = fingerprint(root, ['prisma/schema.prisma'], version)
  if (readStamp(stamp) === wanted) return false
  rmSync(output, { recursive: true, force: true })
  const run = spawnSync(process.execPath, [require.resolve('prisma/build/index.js'), 'generate'], {
    cwd: root,
    encoding: 'utf8',
    env: {
      ...process.env,
      // Any existing file works; the update check would be a request to a third party.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
    },
  })
  if (run.status !== 0) throw new Error(`prisma generate failed:\n${run.stdout}${run.stderr}`)
  mkdirSync(output, { recursive: true })
  writeFileSync(stamp, wanted)
  return true
}

/**
 * @param {string} path a file that may not exist
 * @returns {string | undefined} its content
 */
export function readStamp(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // Never built, or deleted: build in both cases.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const made = generatePrisma(fileURLToPath(new URL('..', import.meta.url)))
  console.log(made ? 'Prisma client generated in src/generated/prisma' : 'Prisma client is up to date')
}
