/** A node that says that accounts have another code than they have, and simulates as if they had. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

type Call = { readonly id: unknown; readonly method: string; readonly params?: readonly unknown[] }
type Codes = Readonly<Record<string, string>>

/** By address. */
export type CodeLies = { readonly said: Codes; readonly simulated: Codes }

/** @param lies of now @returns its URL */
export async function withLyingCodes(t: Test, target: string, lies: () => CodeLies): Promise<string> {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call | Call[]
    const answers = await Promise.all([body].flat().map((call) => answer(target, call, lies())))
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function answer(target: string, call: Call, { said, simulated }: CodeLies): Promise<unknown> {
  const { id, method, params = [] } = call
  const [first] = params
  const code = method === 'eth_getCode' ? said[String(first).toLowerCase()] : undefined
  if (code !== undefined) return { jsonrpc: '2.0', id, result: code }
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ ...call, params: pretending(method, params, simulated) })
  return (await fetch(target, { method: 'POST', headers, body })).json()
}

/** The same simulation, on a state with these codes. */
function pretending(method: string, params: readonly unknown[], codes: Codes): readonly unknown[] {
  const overrides = Object.fromEntries(Object.entries(codes).map(([address, code]) => [address, { code }]))
  const [first, block, own] = params
  if (method === 'eth_call' || method === 'eth_estimateGas') {
    return [first, block ?? 'latest', { ...overrides, ...(own as object) }]
  }
  if (method !== 'eth_simulateV1') return params
  const { blockStateCalls, ...rest } = first as { blockStateCalls: readonly { stateOverrides?: object }[] }
  const blocks = blockStateCalls.map((one, i) =>
    i === 0 ? { ...one, stateOverrides: { ...overrides, ...one.stateOverrides } } : one,
  )
  return [{ ...rest, blockStateCalls: blocks }, block]
}
