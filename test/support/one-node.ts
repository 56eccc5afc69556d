/** A chain of one node, whose answers are those of all. */
import type { Nodes } from '../../src/chain/agreement.ts'
import { readHead } from '../../src/chain/blocks.ts'
import type { EachReader, RpcReader } from '../../src/chain/json-rpc.ts'

export function oneNode({ batch }: RpcReader): EachReader & Nodes {
  return {
    batch,
    fromEach: async (requests) => [await batch(requests)],
    agreed: { batch },
    async newest(tag) {
      const { number, hash } = await readHead({ batch }, tag)
      return { number, hash }
    },
    nodes: () => [{ batch, doubt: () => undefined }],
    quorum: { needed: 1, nodes: 1 },
  }
}
