/** A chain of one node, whose answers are those of all. */
import type { Nodes } from '../../src/chain/agreement.ts'
import { readHead } from '../../src/chain/blocks.ts'
import type { RpcReader } from '../../src/chain/json-rpc.ts'

export function oneNode({ batch }: RpcReader): RpcReader & Nodes {
  const node = { batch, host: 'node.test', doubt: () => undefined }
  return {
    batch,
    agreed: node,
    async newest(tag) {
      const { number, hash } = await readHead(node, tag)
      return { number, hash }
    },
    nodes: () => [node],
    quorum: { needed: 1, nodes: 1 },
  }
}
