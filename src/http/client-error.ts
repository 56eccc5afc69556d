/**
 * Responds on connections that never become a request: bytes that are not HTTP, headers that are too large, a client
 * that is too slow.
 */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError } from 'fastify'
import type { NewId } from '../core/registry.ts'
import { errorBody } from './envelope.ts'
import { statusOf } from './error-status.ts'

const REFUSALS: Readonly<Record<string, { readonly code: string; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 'headers_too_large', message: 'The request headers are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout', message: 'The request timed out before it was complete.' },
}
const MALFORMED = { code: 'malformed_request', message: 'The request is not valid HTTP/1.1.' }

export function clientErrorHandler(newId: NewId): (error: ConnectionError, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy(error)
    const item = { type: 'validation_error' as const, ...(REFUSALS[error.code] ?? MALFORMED) }
    const status = statusOf(item)
    const id = newId('request')
    const body = JSON.stringify(errorBody([item], id))
    socket.end(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        'content-type: application/json; charset=utf-8',
        `content-length: ${Buffer.byteLength(body)}`,
        `x-request-id: ${id}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    )
    // Requests before it wait for their responses, and nothing more is read: the end of the client would not be noticed.
    if (socket.isPaused()) socket.destroySoon()
  }
}
