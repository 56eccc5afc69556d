/**
 * The reference with its try-it form, at `/docs`. Everything it loads comes from this server, and a content security
 * policy holds it to that: an API key that is typed there goes nowhere else.
 */
import scalar from '@scalar/fastify-api-reference'
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

export async function addDocsPage(app: App): Promise<void> {
  await app.register((page, _options, done) => {
    page.addHook('onRequest', (request, reply, done) => {
      reply.header('content-security-policy', POLICY)
      // The script is 4 MB and changes with a release only.
      reply.header('cache-control', request.url.endsWith('.js') ? 'public, max-age=3600' : 'no-cache')
      done()
    })
    page.register(scalar, {
      routePrefix: '/docs',
      configuration: {
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
      },
    })
    done()
  })
}
