/** A node before the real one, of which a test alters the results. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
type Answer = { readonly id: number; result?: unknown }

export type AlteredNode = {
  readonly url: string
  /** Changes the result of a call; by default nothing. */
  alter: (call: Call, result: unknown) => unknown
  /** Answers nothing. */
  isSilent: boolean
}

export async function withAlteredNode(t: Test, target: string): Promise<AlteredNode> {
  const server = createServer(async (request, response) => {
    const text = (await buffer(request)).toString()
    if (node.isSilent) return void request.socket.destroy()
    const headers = { 'content-type': 'application/json' }
    const answered = await fetch(target, { method: 'POST', headers, body: text })
    const [calls, answers] = [JSON.parse(text), await answered.json()] as [Call | Call[], Answer | Answer[]]
    for (const answer of [answers].flat()) {
      const call = [calls].flat().find(({ id }) => id === answer.id)
      if (call !== undefined && answer.result !== undefined) answer.result = node.alter(call, answer.result)
    }
    response.writeHead(200, headers).end(JSON.stringify(answers))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const node: AlteredNode = { url, alter: (_call, result) => result, isSilent: false }
  return node
}
