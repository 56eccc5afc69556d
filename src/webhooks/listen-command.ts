/** `webhooks listen`: receives the deliveries of one webhook on this machine, verifies them and prints them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { BadInput, type CliCommand, type CliIo } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { jsonText, shown, shownText } from '../cli/printed.ts'
import { parseSecret, whyRefused } from './verify-delivery.ts'

const HOST = '127.0.0.1'
const DEFAULT_PORT = 9_000

export function listenCommand({
  untilStopped,
  clock,
}: {
  /** Until the user ends the command. */
  readonly untilStopped: () => Promise<void>
  /** ms since 1970 */
  readonly clock: () => number
}): CliCommand {
  return {
    name: 'webhooks listen',
    summary: 'receive the deliveries of a webhook on this machine, verify and print them',
    details: `Creates nothing: create a webhook for http://${HOST}:${DEFAULT_PORT}/ first, and pass the secret of the response. The service must run on
this machine and allow such URLs (WEBHOOK_ALLOW_HTTP, WEBHOOK_ALLOWED_NETWORKS), as the sandbox does. A genuine delivery is
answered with 204, any other with 401, so that it is sent again. Runs until Ctrl-C. The webhook stays: delete it afterwards.

JSON: one line for each delivery, {"verified": boolean, "refused_because": string or null, "event": {…} or null}.`,
    options: [
      { flags: '--secret <whsec>', description: 'the secret of the webhook' },
      { flags: '--port <port>', description: `the port to listen on, ${DEFAULT_PORT} by default` },
    ],
    async run({ options }, io) {
      const port = portOf(textOf(options.port))
      const secret = secretOf(textOf(options.secret), port)
      const server = createServer((request, response) => void receive(request, response, { secret, clock, io }))
      const listening = await listen(server, port)
      io.note(`listening on http://${HOST}:${listening}/, until Ctrl-C`)
      await untilStopped()
      server.closeAllConnections()
      server.close()
      return 0
    },
  }
}

function portOf(given: string | undefined): number {
  const port = given === undefined ? DEFAULT_PORT : /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN
  if (!(port <= 65_535)) throw new BadInput('--port must be a number from 0 to 65535')
  return port
}

function secretOf(given: string | undefined, port: number): Buffer {
  const secret = parseSecret(given ?? '')
  if (secret !== null) return secret
  const what = given === undefined ? '--secret is missing' : '--secret must be whsec_ and base64'
  throw new BadInput(
    `${what}: create a webhook and pass the secret of the response: curl -s $URL/v1/webhooks -H "Authorization: Bearer $KEY" ` +
      `-H 'Content-Type: application/json' -d '{"url":"http://${HOST}:${port}/"}'`,
  )
}

/** @throws BadInput when the port is in use */
async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error
    throw new BadInput(`--port ${port} cannot be used (${error.code}): choose another one`)
  })
  return (server.address() as AddressInfo).port
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { secret, clock, io }: { readonly secret: Buffer; readonly clock: () => number; readonly io: CliIo },
): Promise<void> {
  const body = await text(request).catch(() => null)
  // The sender gave up.
  if (body === null) return
  const refused = whyRefused(secret, request.headers, body, clock())
  response.writeHead(refused === null ? 204 : 401).end()
  print(io, body, refused)
}

function print({ print: write, paint }: CliIo, body: string, refused: string | null): void {
  if (refused !== null) {
    write(
      { verified: false, refused_because: refused, event: null },
      `${paint.red('refused')}  ${shownText(refused)}\n`,
    )
    return
  }
  // Of a body that is signed, the sender knows that it is an event.
  const event = JSON.parse(body) as { id: string; type: string; timestamp: string }
  const { id, type, timestamp } = shown(event)
  write(
    { verified: true, refused_because: null, event },
    `${paint.green('verified')}  ${timestamp}  ${paint.bold(type)}  ${id}\n${jsonText(event, 2)}\n`,
  )
}
