/**
 * A process that responds to a request when it reads a line, for tests of its shutdown. Prints its port, then what it
 * closes.
 */
import { once } from 'node:events'
import { closeOnSignal } from '../../src/http/shutdown.ts'
import { createLogger } from '../../src/logging.ts'
import { startTestApp } from './http.ts'

const [graceMs = '0'] = process.argv.slice(2)

const { app } = await startTestApp({
  routes: (app) => {
    const schema = { operationId: 'wait', summary: 'Wait', description: 'Waits.', tags: ['Test'] }
    app.get('/v1/slow', { config: { scope: 'public' }, schema }, async () => {
      process.stdout.write('begun\n')
      await once(process.stdin, 'data')
      return { status: 'success', data: {} }
    })
  },
})
closeOnSignal({
  logger: createLogger({ level: 'silent', processName: 'test' }),
  graceMs: Number(graceMs),
  steps: [
    { name: 'server', close: () => app.close() },
    { name: 'broken', close: () => (process.env.BREAK ? Promise.reject(new Error('cannot')) : Promise.resolve()) },
    { name: 'database', close: async () => void process.stdout.write('database closed\n') },
  ],
})
const address = await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${address}\n`)
