/**
 * The reference with its try-it form, at `/docs`. Everything it loads comes from this server, and a content security
 * policy holds it to that: an API key that is typed there goes nowhere else.
 */
import { readFile } from 'node:fs/promises'
import { type Gate, limitByAddress } from './auth.ts'
import { createDocument, type Document, sendDocument } from './document.ts'
import type { App } from './request.ts'

/** The page starts with an inline script and styles of its own; all that it fetches is ours. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Made by the build (`scripts/generate-docs-page.mjs`). The script has no extension that a compiler would take for ours. */
const PAGE = new URL('../generated/docs/index.html', import.meta.url)
const SCRIPT = new URL('../generated/docs/scalar.bundle', import.meta.url)

/** The tokens of an address that its script costs: it is a hundred times as large as any other answer. */
const SCRIPT_COST = 10

export function addDocsPage(app: App, gate: Gate): void {
  const hidden = { schema: { hide: true }, onRequest: limitByAddress(gate) }
  const page = keptFile(PAGE)
  const script = keptFile(SCRIPT)
  app.get('/docs', hidden, (_request, reply) => reply.redirect('/docs/', 301))
  app.get('/docs/', hidden, async (request, reply) =>
    sendDocument(request, reply, await page(), {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
    }),
  )
  app.get('/docs/js/scalar.js', { ...hidden, onRequest: limitByAddress(gate, SCRIPT_COST) }, async (request, reply) =>
    sendDocument(request, reply, await script(), {
      'content-type': 'application/javascript; charset=utf-8',
      // 4 MB, and it changes with a release only.
      'cache-control': 'public, max-age=3600',
      'content-security-policy': POLICY,
    }),
  )
}

/** Reads a file when it is first asked for, and keeps it. */
function keptFile(file: URL): () => Promise<Document> {
  let kept: Document | undefined
  return async () => {
    kept ??= createDocument(await readFile(file))
    return kept
  }
}
