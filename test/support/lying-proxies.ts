/**
 * Several nodes of one chain, of which some lie: proxies before the real one, which record every method that the service
 * calls. Those that lie tell the same lies, like nodes of one attacker.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
export type Said =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
/** Asks the honest node. @throws Error when that answers with an error */
export type Ask = (method: string, ...params: unknown[]) => Promise<unknown>

export type Lie = {
  /** `eth_getBalance/none`; of several methods `several/forged deposits`. */
  readonly name: string
  readonly methods: readonly string[]
  /** The honest node never hears of the call. */
  readonly keeps?: true
  /** The lie begins: what it is based on is the chain of now. */
  readonly begin?: (ask: Ask) => Promise<void>
  /** @returns `null` for the honest answer */
  readonly tell: (call: Call, honest: Said, ask: Ask) => Said | null | Promise<Said | null>
}

export type LyingProxies = {
  /** Takes the URL of the node, and returns those for the service: the liars first, as the preferred ones. */
  readonly before: (url: string) => Promise<readonly string[]>
  /** Every method that came, and how often. */
  readonly asked: ReadonlyMap<string, number>
  /** False answers that were given since the lies began, by method. */
  readonly told: ReadonlyMap<string, number>
  /** From now on; several of one method take turns. None: everybody is honest. */
  readonly lie: (lies: readonly Lie[]) => Promise<void>
}

/** How long one of several lies about a method is told. */
const TURN_MS = 40

export async function withLyingProxies(t: Test, nodes: number, liars: number): Promise<LyingProxies> {
  const asked = new Map<string, number>()
  const told = new Map<string, number>()
  let url = ''
  let active: readonly Lie[] = []
  const ask: Ask = async (method, ...params) => {
    const [said] = await forward(url, [{ id: 1, method, params }])
    if (said === undefined || 'error' in said) throw new Error(`${method}: ${said?.error.message}`)
    return said.result
  }
  const lieAbout = ({ method }: Call): Lie | undefined => {
    const about = active.filter(({ methods }) => methods.includes(method))
    return about[Math.floor(Date.now() / TURN_MS) % Math.max(1, about.length)]
  }
  const answer = async (calls: readonly Call[], isLiar: boolean): Promise<Said[]> => {
    const lies = calls.map((call) => (isLiar ? lieAbout(call) : undefined))
    const honest = await forward(
      url,
      calls.filter((_, i) => lies[i]?.keeps !== true),
    )
    const heard = calls.map((_, i): Said => (lies[i]?.keeps === true ? { result: null } : (honest.shift() ?? NOTHING)))
    return Promise.all(
      calls.map(async (call, i) => {
        const [lie, truth] = [lies[i], heard[i] ?? NOTHING]
        const said = (await lie?.tell(call, truth, ask)) ?? null
        if (said === null || JSON.stringify(said) === JSON.stringify(truth)) return truth
        count(told, call.method)
        return said
      }),
    )
  }
  const urls: string[] = []
  for (let index = 0; index < nodes; index++) {
    urls.push(
      await withServer(t, async (calls) => {
        for (const { method } of calls) count(asked, method)
        return answer(calls, index < liars)
      }),
    )
  }
  return {
    asked,
    told,
    async before(of) {
      url = of
      return urls
    },
    async lie(lies) {
      active = []
      for (const lie of lies) await lie.begin?.(ask)
      told.clear()
      active = lies
    },
  }
}

const NOTHING: Said = { error: { code: -32603, message: 'nothing was heard' } }

async function withServer(t: Test, answer: (calls: readonly Call[]) => Promise<Said[]>): Promise<string> {
  const server = http.createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Call | Call[]
      const calls = [body].flat()
      const said = await answer(calls)
      const answers = calls.map(({ id }, i) => ({ jsonrpc: '2.0', id, ...said[i] }))
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function forward(url: string, calls: readonly Call[]): Promise<Said[]> {
  if (calls.length === 0) return []
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))),
  })
  const answers = (await response.json()) as (Said & { readonly id: number })[]
  const byId = new Map(answers.map(({ id, ...said }) => [id, said as Said]))
  return calls.map((_, id) => byId.get(id) ?? NOTHING)
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}
