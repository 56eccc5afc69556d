/** Clients of the event stream for benchmarks. They run outside of the measured process. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { authHeaders, call, type Subject } from './subject.ts'

/** Connections that are opened at once. */
const AT_ONCE = 50
const EVENT = Buffer.from('\nevent: ')

type Seen = { readonly id: string; readonly timestamp: string }

/** The position after everything that is recorded now. */
export async function positionOf(subject: Subject): Promise<string> {
  return (await call<{ readonly as_of_event: string }>(subject, 'GET', '/v1/wallets?limit=1')).as_of_event
}

/** One client that reads every event. @param after null for the oldest event */
export async function openStream(
  subject: Subject,
  after: string | null,
  onEvent: (event: Seen) => void,
): Promise<{ readonly close: () => void }> {
  let text = ''
  return connect({ subject, after, url: feedOf(subject) }, (chunk) => {
    text += chunk.toString()
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
      text = text.slice(end + 2)
      if (data !== undefined) onEvent(JSON.parse(data) as Seen)
    }
  })
}

/** One client that reads the ids of events. @param after null for the oldest event */
export async function openIds(
  subject: Subject,
  after: string | null,
  onId: (id: string) => void,
): Promise<{ readonly close: () => void }> {
  let rest = ''
  return connect({ subject, after, url: feedOf(subject) }, (chunk) => {
    const blocks = `${rest}${chunk.toString('latin1')}`.split('\n\n')
    rest = blocks.pop() ?? ''
    // A heartbeat has no event.
    for (const block of blocks) if (block.includes('\nevent: ')) onId(block.slice('id: '.length, block.indexOf('\n')))
  })
}

/** Many clients that only count. */
export async function openStreams(
  subject: Subject,
  after: string | null,
  count: number,
  url = feedOf(subject),
): Promise<{ readonly fewest: () => number; readonly bytes: () => number; readonly close: () => void }> {
  const clients = Array.from({ length: count }, () => ({ events: 0 }))
  let bytes = 0
  const closes: (() => void)[] = []
  for (let first = 0; first < count; first += AT_ONCE) {
    const batch = clients.slice(first, first + AT_ONCE).map(async (client) => {
      let rest: Buffer = Buffer.alloc(0)
      const { close } = await connect({ subject, after, url }, (chunk) => {
        bytes += chunk.length
        const text = Buffer.concat([rest, chunk])
        for (let at = text.indexOf(EVENT); at !== -1; at = text.indexOf(EVENT, at + 1)) client.events += 1
        rest = text.subarray(-(EVENT.length - 1))
      })
      closes.push(close)
    })
    await Promise.all(batch)
  }
  return {
    fewest: () => Math.min(...clients.map(({ events }) => events)),
    bytes: () => bytes,
    close() {
      for (const close of closes) close()
    },
  }
}

function feedOf({ service }: Subject): string {
  return `${service.state().base_url}/v1/events`
}

async function connect(
  { subject, after, url }: { readonly subject: Subject; readonly after: string | null; readonly url: string },
  onData: (chunk: Buffer) => void,
): Promise<{ readonly close: () => void }> {
  const headers = {
    ...authHeaders(subject),
    accept: 'text/event-stream',
    ...(after === null ? {} : { 'last-event-id': after }),
  }
  const request = get(url, { headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`the event stream was refused with ${response.statusCode}`)
  // It is cut off when the client leaves.
  request.on('error', () => undefined)
  response.on('error', () => undefined).on('data', onData)
  return { close: () => request.destroy() }
}
