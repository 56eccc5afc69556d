/** What several lanes ask a node in one turn of the event loop is one exchange, and none of them waits long for another. */
import { gathering, type Patience } from '../core/gathering.ts'
import type { RpcReader, RpcRequest, RpcResult } from './json-rpc.ts'

/** Nodes answer what lanes share in milliseconds. */
export const PATIENCE_MS = 1_000

export function isHeard(result: RpcResult): boolean {
  return result.ok || result.error.kind === 'answer'
}

/** @param nameOf by what the node may be slow with a caller: of its first key */
export function patienceWith<Key>(nameOf: (key: Key) => string): Patience<Key, RpcResult> {
  return { ms: PATIENCE_MS, nameOf, isAnswer: isHeard }
}

/** Callers whose first requests begin with the same parameter are alike. */
export function askedTogether(batch: RpcReader['batch']): RpcReader['batch'] {
  const patience = patienceWith(({ params }: RpcRequest) => String(params[0]))
  return gathering((requests: readonly RpcRequest[]) => batch(requests), { patience })
}
