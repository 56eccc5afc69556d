/** The agreed reads of nodes that answer as a test says. */
import { createAgreedHead, createAgreedReads } from '../../src/chain/agreed-reads.ts'
import type { RpcReader, RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import { Unavailable } from '../../src/core/errors.ts'

export const HASH = `0x${'11'.repeat(32)}`

export type Answer = (request: RpcRequest) => unknown

export class Refusal {
  readonly error: Extract<RpcResult, { readonly ok: false }>['error']
  constructor(message: string, data?: unknown) {
    this.error = { kind: 'answer', code: -32000, message, ...(data === undefined ? {} : { data }) }
  }
}

const SILENCE: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no answer' } }

function nodeOf(answer: Answer) {
  const asked: RpcRequest[] = []
  const batch: RpcReader['batch'] = async (requests) => {
    asked.push(...requests)
    return requests.map((request): RpcResult => {
      const value = answer(request)
      if (value === undefined) return SILENCE
      return value instanceof Refusal ? { ok: false, error: value.error } : { ok: true, value }
    })
  }
  return { asked, batch }
}

export function readsOf(answers: readonly Answer[], { needed = 2, head = 100 } = {}) {
  const heads = { asked: 0, now: 0, head }
  const nodes = answers.map(nodeOf)
  const newest = async () => {
    heads.asked += 1
    if (heads.head < 0) throw new Unavailable('no_quorum', '1 of 3 nodes answers')
    return { number: heads.head, hash: HASH }
  }
  const quorum = { needed, nodes: nodes.length }
  const plain = nodes[0] ?? nodeOf(() => null)
  const reads = createAgreedReads(
    { nodes: () => nodes, quorum },
    plain,
    createAgreedHead({ newest }, () => heads.now),
  )
  const ask = async (method: string, ...params: readonly unknown[]) => (await reads.batch([{ method, params }]))[0]
  return { nodes, heads, reads, plain, ask }
}

export const always = (value: unknown) => () => value
