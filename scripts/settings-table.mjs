// Writes the table of settings into docs/settings.md, between its two marks, from the schema that validates them.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const BEGIN = '<!-- settings: made by npm run settings -->'
const END = '<!-- end of settings -->'

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
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`docs/settings.md has no markers for the table: ${BEGIN} … ${END}`)
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(root)
  const { SETTINGS } = await import(pathToFileURL(`${root}dist/src/compose/load-config.js`).href)
  const path = `${root}docs/settings.md`
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), settingsTable(SETTINGS)))
}
