/** A chain of one node, whose answers are those of all. */
import type { EachReader, RpcReader } from '../../src/chain/json-rpc.ts'

export function oneNode({ batch }: RpcReader): EachReader {
  return { batch, fromEach: async (requests) => [await batch(requests)] }
}
