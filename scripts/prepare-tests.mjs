// What tests need before they run: dist/, and a tap that is built with the plugins that package.json names. tap would
// build itself at its first run, but that run would still load each plugin that was there before.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from './build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** @returns {Promise<void>} when tap loads the plugins that are wanted, and none that are not */
async function buildTap() {
  const { t } = await import('tap')
  const { tap } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const unwanted = tap.plugin.map((/** @type {string} */ name) => name.replace(/^!/, ''))
  if (!unwanted.some((/** @type {string} */ name) => t.pluginSignature.includes(name))) return
  console.log('Building tap with its plugins, once after an install')
  const { status } = spawnSync('npx', ['tap', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('tap could not be built')
}

try {
  await build(root)
  await buildTap()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
