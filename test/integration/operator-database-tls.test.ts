/** A database without TLS, or with a broken one, is an outage with one line, as one that does not answer. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import t, { type Test } from 'tap'
import { withOperator } from '../support/operator-stage.ts'

t.test('a command that needs TLS and gets none from the database ends with one line and exit code 3', async (t) => {
  const { runWith, pool, logOn } = await withOperator(t)
  const servers = [
    ['PostgreSQL without TLS', {}],
    ['a server that answers with an error', { host: '127.0.0.1', port: await startAnswering(t, 'E') }],
    ['a server that does not speak TLS', { host: '127.0.0.1', port: await startAnswering(t, 'Sno TLS') }],
  ] as const
  for (const [about, address] of servers) {
    const overTls = new pg.Pool({ ...pool.options, ...address, ssl: { rejectUnauthorized: false } })
    t.teardown(() => overTls.end())
    const parts = { pool: overTls, log: logOn(overTls) }
    const line = /^The database does not answer: .*(?:SSL|EPROTO).*\n$/
    t.match(await runWith(parts, 'stuck'), { code: 3, out: /database_down/, err: line }, about)
    t.match(await runWith(parts, 'lanes'), { code: 3, out: '', err: line }, about)
  }
})

/** The port of a server that answers the request for TLS with the first character, and what comes then with the rest. */
async function startAnswering(t: Test, [first = '', ...rest]: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(first)
      socket.once('data', () => socket.end(rest.join('')))
    })
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}
