/** What the contract logged of a voucher, recorded as the follower does. */
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import type { VoucherUse } from '../../src/nft/tokens/mint-events.ts'
import { type Calls, NOW } from './calls.ts'
import { ACME } from './wallet-parts.ts'

/** Of somebody else's transaction. */
const REDEEMED = { as: 'minted', hash: '0xe1', transactionId: null, blockNumber: 7, blockHash: '0xb7' } as const

export async function recordUse(
  { log }: Pick<Calls, 'log'>,
  mintId: unknown,
  recipient: string,
  fields: Partial<VoucherUse> = {},
): Promise<void> {
  const use = { ...REDEEMED, recipient, ...fields }
  await log.execute(mintAggregate, String(mintId), { type: 'RecordUse', use, now: NOW }, { metadata: ACME })
}
