/** A load generator in a separate process, so that it never shares a thread with the measured code. */
import autocannon from 'autocannon'

export type Load = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly connections: number
  /** Used in turn by each connection, which begins at its own; default is the path of the URL. */
  readonly paths?: readonly string[]
  /** Requests per second; default is as many as possible. */
  readonly rate?: number
  readonly onAnswer?: () => void
} & ({ readonly seconds: number } | { readonly amount: number })

export type LoadResult = {
  readonly perSecond: number
  readonly answered: number
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Seconds: on a busy machine a response may take long, which is a figure and no failure. */
const TIMEOUT_S = 60

/** @throws Error when a response is not a success: a rate of refusals is meaningless */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { url, method, headers, body, connections, paths, rate, onAnswer } = load
  let next = 0
  const result = await autocannon({
    url,
    method,
    connections,
    timeout: TIMEOUT_S,
    ...(headers ? { headers } : {}),
    ...(body === undefined ? {} : { body }),
    ...(paths ? { requests: paths.map((path) => ({ path })) } : {}),
    ...(rate === undefined ? {} : { overallRate: rate }),
    setupClient(client) {
      if (onAnswer) client.on('response', onAnswer)
      if (!paths) return
      const own = Math.floor((next * paths.length) / connections)
      next += 1
      client.setRequests([...paths.slice(own), ...paths.slice(0, own)].map((path) => ({ path })))
    },
    ...('seconds' in load ? { duration: load.seconds } : { amount: load.amount }),
  })
  const answered = result['2xx']
  const refused = result.non2xx + result.errors + result.timeouts
  if (refused > 0)
    throw new Error(
      `${refused} of ${answered + refused} answers of ${url} were no success: ${JSON.stringify(result.statusCodeStats)}`,
    )
  return {
    perSecond: answered / result.duration,
    answered,
    refused,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}
