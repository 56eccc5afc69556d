/** The id of each request: the caller's `X-Request-Id` if it is safe to echo and log, otherwise a generated one. */
import type { IncomingMessage } from 'node:http'
import type { NewId } from '../declarations.ts'

/** At most 128 visible ASCII characters: nothing that could break a header or a log line. */
const FIT_TO_ECHO = /^[!-~]{1,128}$/

export function requestIdMaker(newId: NewId): (message: IncomingMessage) => string {
  return (message) => {
    const sent = message.headers['x-request-id']
    return typeof sent === 'string' && FIT_TO_ECHO.test(sent) ? sent : newId('request')
  }
}
