/** Clients of event streams: one that reads blocks, and one that reconnects for as long as it takes. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export type FeedEvent = {
  readonly id: string
  readonly type: string
  readonly environment: string
  readonly resource: { readonly type: string; readonly id: string; readonly version: number }
  readonly data: Readonly<Record<string, unknown>> | null
}

/** One block of an event stream. */
export type Block = {
  readonly id?: string
  readonly event?: string
  readonly data?: FeedEvent
  readonly retry?: string
}

export type FeedStream = {
  readonly response: IncomingMessage
  /** The next block with something in it; null at the end of the stream. */
  readonly next: () => Promise<Block | null>
  /** Blocks until so many events came; heartbeats are passed over. */
  readonly events: (count: number) => Promise<FeedEvent[]>
  readonly close: () => void
}

export function readStream(response: IncomingMessage, close: () => void): FeedStream {
  const blocks = parse(response)
  const next = async () => (await blocks.next()).value ?? null
  return {
    response,
    next,
    close,
    async events(count) {
      const found: FeedEvent[] = []
      while (found.length < count) {
        const block = await next()
        if (block === null) throw new Error(`the stream ended after ${found.length} events`)
        if (block.data !== undefined) found.push(block.data)
      }
      return found
    },
  }
}

async function* parse(response: IncomingMessage): AsyncGenerator<Block, null> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const fields = Object.fromEntries(text.slice(0, end).split('\n').map(fieldOf))
        text = text.slice(end + 2)
        if ('' in fields) continue
        yield {
          ...fields,
          ...(fields.data === undefined ? {} : { data: JSON.parse(fields.data) as FeedEvent }),
        } as Block
      }
    }
  } catch {
    return null
  }
  return null
}

/** A comment has an empty name. */
function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 2)]
}

export type Listener = {
  /** The ids of all events that came, in the order in which they came. */
  readonly ids: readonly string[]
  readonly connections: () => number
  readonly stop: () => void
}

const RETRY_MS = 100

/** Reads the feed from its oldest event on, and continues after the last one whenever the stream ends. */
export function listen({ baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string }): Listener {
  const ids: string[] = []
  let connections = 0
  let isStopped = false
  let close: () => void = () => undefined

  async function readOnce(last: string | undefined): Promise<string | undefined> {
    let position = last
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${apiKey}` }
    const request = get(`${baseUrl}/v1/events`, {
      headers: { ...headers, ...(position === undefined ? {} : { 'last-event-id': position }) },
      agent: false,
    })
    close = () => request.destroy()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    request.on('error', () => undefined)
    if (response.statusCode !== 200) {
      request.destroy()
      return position
    }
    connections += 1
    const stream = readStream(response, close)
    for (let block = await stream.next(); block !== null; block = await stream.next()) {
      position = block.id ?? position
      if (block.data !== undefined) ids.push(block.data.id)
    }
    return position
  }

  async function run(): Promise<void> {
    let last: string | undefined
    while (!isStopped) {
      try {
        last = await readOnce(last)
      } catch {
        // Refused or cut off before the response.
      }
      await sleep(RETRY_MS)
    }
  }

  void run()
  return {
    ids,
    connections: () => connections,
    stop() {
      isStopped = true
      close()
    },
  }
}
