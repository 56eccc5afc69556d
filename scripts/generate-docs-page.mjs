// Generates the API reference page and its script in src/generated/docs. The rendering package keeps its script of 4 MB
// in memory several times: it runs only here, and the service serves two files.

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fingerprint } from './fingerprint.mjs'
import { readStamp } from './generate-prisma.mjs'

const SELF = fileURLToPath(import.meta.url)

/** The configuration of the page; everything that would contact a third party is turned off. */
const CONFIGURATION = {
  url: '/openapi.json',
  pageTitle: 'Bursar API reference',
  theme: 'default',
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: { preferredSecurityScheme: 'apiKey' },
}

/**
 * @param {string} root the project's folder
 * @returns {boolean} whether the page was generated
 * @throws {Error} when the package cannot render it
 */
export function generateDocsPage(root) {
  const output = join(root, 'src/generated/docs')
  const stamp = join(output, '.fingerprint')
  // The manifest pins the package's version.
  const wanted = fingerprint(root, ['scripts/generate-docs-page.mjs', 'package.json'])
  if (readStamp(stamp) === wanted) return false
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const run = spawnSync(process.execPath, [SELF, output], { encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`the reference page cannot be generated:\n${run.stdout}${run.stderr}`)
  writeFileSync(stamp, wanted)
  return true
}

/** @param {string} output folder */
async function render(output) {
  const [{ default: fastify }, { default: scalar }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ])
  const app = fastify()
  await app.register(scalar, { routePrefix: '/docs', configuration: /** @type {any} */ (CONFIGURATION) })
  for (const { url, file } of [
    { url: '/docs/', file: 'index.html' },
    { url: '/docs/js/scalar.js', file: 'scalar.bundle' },
  ]) {
    const { statusCode, rawPayload } = await app.inject(url)
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    writeFileSync(join(output, file), rawPayload)
  }
  await app.close()
}

if (process.argv[1] === SELF) await render(process.argv[2] ?? '')
