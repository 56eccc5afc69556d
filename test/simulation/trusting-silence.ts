/** The mutant that breaks law 2: it treats a node that does not answer as proof that a nonce is lost. */
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { Node } from './node.ts'
import type { World } from './terms.ts'

export function trustingSilence({ wallClock, chain }: World, log: EventLog, node: Node): Node {
  return {
    ...node,
    async sendRawTransactions(raw) {
      const answers = await node.sendRawTransactions(raw)
      for (const [index, { outcome }] of answers.entries()) {
        const { signedFor, nonce } = chain.wireOf(raw[index] ?? '')
        if (outcome !== 'unavailable' || signedFor === null) continue
        const now = new Date(wallClock()).toISOString()
        const command = {
          type: 'RecordForeignNonce',
          nonce,
          finalizedBlock: 0,
          takenBy: { hash: '0x0', blockNumber: 0 },
          now,
        } as const
        await log.execute(transactionAggregate, signedFor, command, { metadata: { tenantId: 'acme', actor: 'mutant' } })
      }
      return answers
    },
  }
}
