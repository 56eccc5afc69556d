/** A node before a real one that alters results, and counts what it is asked. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

export type AskedCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
type Answer = { readonly id: number; result?: unknown }

/** @returns the result that is passed on; by default the given one */
export type Alter = (call: AskedCall, result: unknown) => unknown

export type AlteredNode = {
  readonly url: string
  alter: Alter
  /** Answers nothing. */
  isSilent: boolean
  /** How often each method was asked. */
  readonly asked: Map<string, number>
}

export async function withAlteredNode(t: Test, url: () => string): Promise<AlteredNode> {
  const server = createServer(async (request, response) => {
    const text = (await buffer(request)).toString()
    if (node.isSilent) return void request.socket.destroy()
    const headers = { 'content-type': 'application/json' }
    const calls = [JSON.parse(text) as AskedCall | AskedCall[]].flat()
    for (const { method } of calls) node.asked.set(method, (node.asked.get(method) ?? 0) + 1)
    try {
      const answered = await fetch(url(), { method: 'POST', headers, body: text })
      const answers = (await answered.json()) as Answer | Answer[]
      for (const answer of [answers].flat()) {
        const call = calls.find(({ id }) => id === answer.id)
        if (call !== undefined && answer.result !== undefined) answer.result = node.alter(call, answer.result)
      }
      response.writeHead(200, headers).end(JSON.stringify(answers))
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const own = `http://127.0.0.1:${port}`
  const node: AlteredNode = { url: own, alter: (_call, result) => result, isSilent: false, asked: new Map() }
  return node
}

/** The result with another last word: of a read of balances, the last balance. */
export function withLastWord(result: unknown, word: bigint): unknown {
  if (typeof result !== 'string' || result.length < 66) return result
  return result.slice(0, -64) + word.toString(16).padStart(64, '0')
}
