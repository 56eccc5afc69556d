/** One JSON-RPC call to a chain that this process started; setting up a sandbox needs no failover and no batching. */

/** A node that hangs must not block its caller. Saving a long chain takes seconds. */
const TIMEOUT_MS = 60_000

/**
 * @returns the `result` of the response
 * @throws Error with the method and the node's message when it refuses, or when there is no response in time
 */
export async function callRpc(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const response = await post(url, method, params)
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

/** The beginning of a response whose result is hex data, and its end. */
const DATA_BEGINS = '"result":"0x'
const DATA_ENDS = '"'

/**
 * The hex data of a large `result`, in pieces, as bytes.
 *
 * @throws Error when the response is not such data
 */
export async function* streamRpc(url: string, method: string): AsyncGenerator<Buffer> {
  const { body } = await post(url, method, [])
  let head: string | null = ''
  let digits = ''
  for await (const chunk of body ?? []) {
    digits += Buffer.from(chunk).toString('latin1')
    if (head !== null) {
      head = digits
      const begin = head.indexOf(DATA_BEGINS)
      if (begin === -1) continue
      digits = head.slice(begin + DATA_BEGINS.length)
      head = null
    }
    const end = digits.indexOf(DATA_ENDS)
    if (end !== -1) return yield Buffer.from(digits.slice(0, end), 'hex')
    const even = digits.length - (digits.length % 2)
    yield Buffer.from(digits.slice(0, even), 'hex')
    digits = digits.slice(even)
  }
  throw new Error(`${method}: ${head ?? 'the response ended early'}`)
}

function post(url: string, method: string, params: readonly unknown[]): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
}
