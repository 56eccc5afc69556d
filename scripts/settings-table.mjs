// Writes the table of settings into docs/settings.md, between its two marks, from the schema that validates them.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { withPart } from './marked-part.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const MARKS = { begin: '<!-- settings: made by npm run settings -->', end: '<!-- end of settings -->' }

/**
 * @param {readonly { name: string, type: string, default: string, description: string }[]} settings
 * @returns {string}
 */
export function settingsTable(settings) {
  const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const rows = settings.map(
    ({ name, type, default: value, description }) =>
      `| \`${name}\` | ${cell(type)} | ${cell(value)} | ${cell(description)} |`,
  )
  return ['| setting | value | default | description |', '|---|---|---|---|', ...rows].join('\n')
}

/**
 * @param {string} page
 * @param {string} table
 * @returns {string} the page with the table in its place
 */
export function withTable(page, table) {
  return withPart(page, MARKS, `\n\n${table}\n\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(root)
  const { SETTINGS } = await import(pathToFileURL(`${root}dist/src/compose/load-config.js`).href)
  const path = `${root}docs/settings.md`
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), settingsTable(SETTINGS)))
}
