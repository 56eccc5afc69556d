/** Lets connections end with the process: nobody is cut off in an answer, and nobody is kept by an idle connection. */
import type { App } from './request.ts'

/** How often connections that fell idle while the process stops are looked for. */
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
  // Answers to requests that were under way: the client is told not to send its next one here.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close')
    done(null, payload)
  })
}
