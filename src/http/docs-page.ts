/**
 * The reference with its try-it form, at `/docs`. Everything it loads comes from this server, and a content security
 * policy holds it to that: an API key that is typed there goes nowhere else.
 */
import { createReadStream } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
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

export function addDocsPage(app: App): void {
  const hidden = { schema: { hide: true } }
  app.get('/docs', hidden, (_request, reply) => reply.redirect('/docs/', 301))
  app.get('/docs/', hidden, (_request, reply) =>
    sendFile(reply, PAGE, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }),
  )
  app.get('/docs/js/scalar.js', hidden, (_request, reply) =>
    sendFile(reply, SCRIPT, {
      'content-type': 'application/javascript; charset=utf-8',
      // 4 MB, and it changes with a release only.
      'cache-control': 'public, max-age=3600',
    }),
  )
}

function sendFile(reply: FastifyReply, file: URL, headers: Readonly<Record<string, string>>): FastifyReply {
  return reply.headers({ ...headers, 'content-security-policy': POLICY }).send(createReadStream(fileURLToPath(file)))
}
