/**
 * When a request is over: its response was sent, or cannot be sent because its connection closed. Node tells only the response
 * that it is sending of the closed connection. Those that wait behind it (pipelining) are told here.
 */
import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { App } from './request.ts'

export function closePipelined(app: App): void {
  const open = new WeakMap<Socket, Set<ServerResponse>>()

  function watch(socket: Socket): Set<ServerResponse> {
    const responses = new Set<ServerResponse>()
    open.set(socket, responses)
    socket.once('close', () => {
      for (const response of responses) if (!response.destroyed) response.destroy().emit('close')
    })
    return responses
  }

  function forget(this: ServerResponse): void {
    open.get(this.req.socket)?.delete(this)
  }

  app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
    const responses = open.get(socket) ?? watch(socket)
    responses.add(response)
    response.once('close', forget)
    done()
  })
}

/** Calls once when the request is over; at once if it is already. */
export function onceOver({ raw: response }: FastifyReply, end: () => void): void {
  if (response.destroyed) end()
  else response.once('close', end)
}

/** Aborts when the request is over. */
export function overOf(reply: FastifyReply): AbortSignal {
  const over = new AbortController()
  // A batch waits for each of its transactions.
  setMaxListeners(0, over.signal)
  onceOver(reply, () => over.abort())
  return over.signal
}
