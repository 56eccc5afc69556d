/** Ends connections on shutdown: no response is cut off, and no idle connection delays the end. */
import type { App } from './request.ts'

/** Interval at which connections that became idle during shutdown are closed. */
const LOOK_AGAIN_MS = 100

export function drainConnections(app: App): void {
  let closing = false
  let lookAgain: NodeJS.Timeout | undefined

  app.addHook('preClose', (done) => {
    closing = true
    lookAgain = setInterval(() => app.server.closeIdleConnections(), LOOK_AGAIN_MS)
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(lookAgain)
    done()
  })
  // Responses to requests in progress: tells the client to send no further request on this connection.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close')
    done(null, payload)
  })
}
