// Builds src/ and workers/ into dist/, with the other files read at run time (SQL, JSON, package.json), and bundles
// each entry point into dist/bin, from where it runs. Does nothing when no source changed, so it can run before every
// start and every test run.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.mjs'
import { filesBelow, fingerprint } from './fingerprint.mjs'
import { generateDocsPage } from './generate-docs-page.mjs'
import { generatePrisma, readStamp } from './generate-prisma.mjs'

const require = createRequire(import.meta.url)

/** The inputs of the build. */
const SOURCES = [
  'src',
  'workers',
  'prisma',
  'scripts/bundle.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
]
/** Copied unchanged to dist/, so that a path relative to a module is the same in both trees. */
const CARRIED = /^(src|workers|prisma)\/.*(?<!\.ts)$|^package\.json$/
/** Only the module of the mpc engine is used at run time; its Rust sources and cargo's output are not copied. */
const STAYS = /^src\/keys\/mpc\/engine\/(?!engine\.wasm$)/

/**
 * @param {string} root the project's folder
 * @returns {Promise<boolean>} whether anything was built
 * @throws {Error} when the client cannot be generated or the sources do not type-check; dist/ is then unchanged
 */
export async function build(root) {
  const dist = join(root, 'dist')
  const stamp = join(dist, '.fingerprint')
  const generated = [generatePrisma(root), generateDocsPage(root)].includes(true)
  const sources = filesBelow(root, SOURCES).filter((path) => !STAYS.test(path))
  const wanted = fingerprint(root, sources)
  if (!generated && readStamp(stamp) === wanted) return false
  // Without its stamp, an incomplete dist/ is never taken for a finished one.
  rmSync(stamp, { force: true })
  compile(root)
  // A directory of a deleted migration would be read as a migration, even without its file.
  rmSync(join(dist, 'prisma'), { recursive: true, force: true })
  for (const path of sources) if (CARRIED.test(path)) copyInto(dist, root, path)
  removeOrphans(root, dist)
  await bundle(dist)
  writeFileSync(stamp, wanted)
  return true
}

/** @param {string} root */
function compile(root) {
  const args = [require.resolve('typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--pretty', 'false']
  const run = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`the sources do not compile:\n${run.stdout}${run.stderr}`)
}

/**
 * @param {string} dist
 * @param {string} root
 * @param {string} path
 */
function copyInto(dist, root, path) {
  const target = join(dist, path)
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(join(root, path), target)
}

/**
 * Removes outputs whose sources were deleted: a deleted module must not stay importable.
 *
 * @param {string} root
 * @param {string} dist
 */
function removeOrphans(root, dist) {
  for (const path of filesBelow(dist, ['src', 'workers'])) {
    const source = path.replace(/\.js(\.map)?$/, '')
    const known = [path, `${source}.ts`, `${source}.js`].some((candidate) => existsSync(join(root, candidate)))
    if (!known || STAYS.test(path)) rmSync(join(dist, path))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const built = await build(fileURLToPath(new URL('..', import.meta.url)))
    console.log(built ? 'Built dist/' : 'dist/ is up to date')
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
