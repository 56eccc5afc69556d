/** A receiver of webhooks, which verifies each delivery with the library of Standard Webhooks. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'
import { createIdentity } from '../../src/keys/age.ts'

export type Delivered = {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  readonly event: {
    readonly id: string
    readonly type: string
    readonly resource: { readonly type: string; readonly id: string; readonly version: number }
    readonly data?: unknown
  }
}

/** An HTTP status; null for no answer. */
type Answer = number | null
type Answering = (delivered: Delivered) => Answer | Promise<Answer>

export type Receiver = {
  readonly urlOf: (path: string) => string
  /** In the order of arrival, also what was answered with an error. */
  readonly all: readonly Delivered[]
  /** Deliveries to a path are verified with its secrets; those that fail are answered with 400 and are not in `all`. */
  readonly verifyWith: (path: string, secret: string) => void
  /** How deliveries to a path are answered from now on; null for not at all. The default is 204. */
  readonly answer: (path: string, how: Answer | Answering, headers?: http.OutgoingHttpHeaders) => void
  /** Waits until this holds, looking again after each delivery. */
  readonly until: (isEnough: (all: readonly Delivered[]) => boolean) => Promise<void>
}

/** Settings that allow receivers of this machine. */
export const LOCAL_RECEIVERS = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }

/** Settings for the API and the sender, which lead to receivers of this machine. */
export async function localWebhooks(): Promise<Readonly<Record<string, string>>> {
  const { identity, recipient } = await createIdentity()
  return {
    WEBHOOK_RECIPIENT: recipient,
    WEBHOOK_IDENTITY: identity,
    ...LOCAL_RECEIVERS,
  }
}

export function isSignedWith(secret: string, body: string, headers: http.IncomingHttpHeaders): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

export async function withReceiver(t: Test): Promise<Receiver> {
  const all: Delivered[] = []
  const secrets = new Map<string, readonly string[]>()
  const answers = new Map<string, { readonly how: Answer | Answering; readonly headers: http.OutgoingHttpHeaders }>()
  let look: () => void = () => undefined
  const server = http.createServer(async (request, response) => {
    const path = request.url ?? ''
    let body = ''
    for await (const chunk of request) body += chunk
    const isGenuine = (secrets.get(path) ?? []).some((secret) => isSignedWith(secret, body, request.headers))
    if (!isGenuine) {
      response.writeHead(400).end('the signature is wrong')
      return
    }
    const delivered = { path, headers: request.headers, body, event: JSON.parse(body) }
    all.push(delivered)
    look()
    const { how, headers } = answers.get(path) ?? { how: 204, headers: {} }
    const status = typeof how === 'function' ? await how(delivered) : how
    if (status !== null) response.writeHead(status, headers).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    all,
    urlOf: (path) => `http://127.0.0.1:${port}${path}`,
    verifyWith: (path, secret) => void secrets.set(path, [...(secrets.get(path) ?? []), secret]),
    answer: (path, how, headers = {}) => void answers.set(path, { how, headers }),
    until: (isEnough) =>
      new Promise((resolve) => {
        look = () => {
          if (isEnough(all)) resolve()
        }
        look()
      }),
  }
}
