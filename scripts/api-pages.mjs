// Writes docs/openapi.json, the API document, and docs/errors.md, the reference of error codes, from the built code.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @param {object} document
 * @returns {string} the content of docs/openapi.json
 */
export function openapiFile(document) {
  return `${JSON.stringify(document, null, 2)}\n`
}

/**
 * @param {readonly { code: string, type: string, status: number, retryable: boolean, action: string }[]} codes
 * @returns {string} the content of docs/errors.md
 */
export function errorsPage(codes) {
  const rows = codes.map(
    ({ code, type, status, retryable, action }) =>
      `| \`${code}\` | ${status} | \`${type}\` | ${retryable ? 'yes' : 'no'} | ${action.replaceAll('|', '\\|')} |`,
  )
  return `${INTRODUCTION}\n${rows.join('\n')}\n`
}

const INTRODUCTION = `<!-- Made by npm run openapi from src/http/error-codes.ts. Do not edit. -->

# Error codes

Every error response has this body:

\`\`\`json
{
  "status": "error",
  "message": "network must be one of ethereum, polygon, binance.",
  "errors": [
    {
      "type": "validation_error",
      "message": "network must be one of ethereum, polygon, binance.",
      "field": "network",
      "code": "not_allowed"
    }
  ],
  "request_id": "req_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11"
}
\`\`\`

- \`errors\` lists every error that was found. The first one decides the HTTP status.
- Branch on \`code\`. It is stable. \`message\` is for people and can change.
- \`field\` is the request field that caused the error, such as \`metadata.image\` or \`items[2].to\`.
- \`details\` has more data about some errors, such as amounts or limits.

**Retryable** means that the same request can succeed later without a change. Wait as long as the
\`Retry-After\` header says, then send the request again with the same \`Idempotency-Key\`. A code that
is not retryable needs the action in the last column first.

| code | HTTP status | type | retryable | what to do |
|---|---|---|---|---|`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(root)
  const load = (/** @type {string} */ module) => import(pathToFileURL(`${root}dist/src/${module}.js`).href)
  const { composeOfflineApi } = await load('sandbox/offline-api')
  const { ERROR_CODES } = await load('http/error-codes')
  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const { app, close } = await composeOfflineApi(version)
  writeFileSync(`${root}docs/openapi.json`, openapiFile(app.swagger()))
  writeFileSync(`${root}docs/errors.md`, errorsPage(ERROR_CODES))
  await close()
}
