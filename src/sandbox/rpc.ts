/** One JSON-RPC call to a chain that this process started; setting up a sandbox needs no failover and no batching. */

/** A node that hangs must not block its caller. Saving a long chain takes seconds. */
const TIMEOUT_MS = 60_000

/**
 * @returns the `result` of the response
 * @throws Error with the method and the node's message when it refuses, or when there is no response in time
 */
export async function callRpc(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}
