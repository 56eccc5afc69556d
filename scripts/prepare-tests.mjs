// What tests need before they run: dist/, and a tap that is built with the plugins that package.json names. tap would
// build itself at its first run, but that run would still load each plugin that was there before.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from './build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Builds tap when it loads a plugin that package.json does not want. */
function buildTap() {
  const { tap } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const unwanted = tap.plugin.map((/** @type {string} */ name) => name.replace(/^!/, ''))
  const built = builtPlugins()
  if (!unwanted.some((/** @type {string} */ name) => built.includes(name))) return
  console.log('Building tap with its plugins, once after an install')
  const { status } = spawnSync('npx', ['tap', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('tap could not be built')
}

/**
 * @returns {string} the plugins that tap was built with. Asked in a process of its own: one that imports tap is a test
 *   to tap, and fails when it has not ended after thirty seconds, which a build on a busy machine can take.
 */
function builtPlugins() {
  const script = "import { t } from 'tap'; console.log(t.pluginSignature)"
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`tap could not be asked for its plugins: ${stderr}`)
  return stdout
}

try {
  await build(root)
  buildTap()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
