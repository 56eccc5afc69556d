/**
 * The ceiling to compare with: bare Fastify routes that do one thing with the same database, in a separate process. Run
 * with DATABASE_URL; prints its URL.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import Fastify from 'fastify'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
// Recovery measurements kill its server.
pool.on('error', () => undefined)
await pool.query('CREATE TABLE IF NOT EXISTS bench_bare (id text PRIMARY KEY, data jsonb NOT NULL)')
const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', amount: '0.0001', asset: 'ETH' }
await pool.query('INSERT INTO bench_bare VALUES ($1, $2) ON CONFLICT DO NOTHING', ['known', JSON.stringify(body)])

const app = Fastify()
app.post('/insert', async (request, reply) => {
  const id = randomUUID()
  await pool.query({
    name: 'insert',
    text: 'INSERT INTO bench_bare VALUES ($1, $2)',
    values: [id, JSON.stringify(request.body)],
  })
  return reply.code(202).send({ id })
})
app.get('/select', async () => {
  const { rows } = await pool.query({
    name: 'select',
    text: 'SELECT id, data FROM bench_bare WHERE id = $1',
    values: ['known'],
  })
  return rows[0]
})
const streams = new Set<ServerResponse>()
app.get('/stream', (_request, reply) => {
  const { raw } = reply.hijack()
  raw.writeHead(200, { 'content-type': 'text/event-stream' }).write(': connected\n\n')
  streams.add(raw)
  raw.once('close', () => streams.delete(raw))
})
/** Writes a text to each stream. */
app.post<{ Body: { readonly text: string } }>('/push', async ({ body: { text } }) => {
  for (const stream of streams) stream.write(text)
  const { user, system } = process.cpuUsage()
  return { cpuMs: (user + system) / 1_000 }
})
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
