/** What others can read of an API process without a key and without TLS is known, and `/metrics` is not in it by default. */
import t from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { exposedPaths, isLoopback } from '../../src/core/exposure.ts'

const DATABASE_URL = 'postgresql://localhost/bursar'
const configured = (env: Readonly<Record<string, string>>) => {
  const { api, http } = loadConfig({ DATABASE_URL, ...env })
  return { serveMetrics: http.serveMetrics, exposed: exposedPaths({ host: api.host, ...http }) }
}

t.test('only addresses of this machine are loopback', async (t) => {
  for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1'])
    t.ok(isLoopback(host), host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '128.0.0.1', ''])
    t.notOk(isLoopback(host), host)
})

t.test(
  'an address other than loopback is told with what answers without a key, unless a proxy is in front',
  async (t) => {
    t.strictSame(configured({}), { serveMetrics: true, exposed: null })
    const open = ['/healthz', '/readyz', '/docs', '/openapi.json']
    t.strictSame(configured({ HOST: '0.0.0.0' }), { serveMetrics: false, exposed: open })
    t.strictSame(configured({ HOST: '::', METRICS_ON_API_PORT: 'true' }), {
      serveMetrics: true,
      exposed: [...open, '/metrics'],
    })
    t.strictSame(configured({ HOST: '::', METRICS_ON_API_PORT: 'true', METRICS_PORT: '9464' }).serveMetrics, false)
    t.strictSame(configured({ HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.0/8' }).exposed, null)
  },
)
