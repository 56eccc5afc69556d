/**
 * A receiver of webhooks in its own process, which answers 204 and counts. To each message of its parent it responds with
 * what arrived since the message before.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export type Arrived = {
  readonly count: number
  /** Deliveries of `transaction.confirmed`. */
  readonly confirmed: number
  /** Of the bodies. */
  readonly bytes: number
  /** From the first arrival to the last, ms. */
  readonly ms: number
  /** From the record of each event to its arrival, ms. */
  readonly waited: readonly number[]
}

const CONFIRMED = '"type":"transaction.confirmed"'

let bodies: { readonly at: number; readonly body: string }[] = []

const server = http.createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  bodies.push({ at: Date.now(), body })
  response.writeHead(204).end()
})

server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

process.on('message', () => {
  const arrived: Arrived = {
    count: bodies.length,
    confirmed: bodies.filter(({ body }) => body.includes(CONFIRMED)).length,
    bytes: bodies.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0),
    ms: (bodies.at(-1)?.at ?? 0) - (bodies[0]?.at ?? 0),
    waited: bodies.map(({ at, body }) => at - Date.parse(timestampOf(body))),
  }
  bodies = []
  process.send?.(arrived)
})
process.on('disconnect', () => process.exit())

/** The bare sender has bodies without one. */
function timestampOf(body: string): string {
  return /"timestamp":"([^"]*)"/.exec(body)?.[1] ?? ''
}
