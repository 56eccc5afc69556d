/** What transactions of NFTs can do, for policies. Pure. */

import { callIntents } from '../policies/call-intents.ts'
import type { Facts } from '../policies/facts.ts'
import { ANY, type Intent, intentOf } from '../policies/intent.ts'
import { calledBy, type JudgedKind, type JudgedKindsOf } from '../policies/transaction-intents.ts'
import type { Intent as OpeningIntent } from '../transactions/intent.ts'
import { readMinted } from './contracts/read-calls.ts'
import type { nft } from './declaration.ts'

/** Their rules say that they call what this service deploys, and move nothing. */
const MANAGED: JudgedKind = { intents: (data) => [intentOf({ actions: ['contract_call'], ...calledBy(data) })] }

export const nftIntents: JudgedKindsOf<typeof nft> = {
  MintRequested: { intents: mintIntents },
  NftTransferRequested: { intents: (data, facts) => callIntents(data, ['nft_transfer'], facts) },
  CollectionDeployRequested: MANAGED,
  TokenUpdateRequested: MANAGED,
  VoucherRevocationRequested: MANAGED,
}

/** Recipients of one mint, each judged. */
const MAX_RECIPIENTS = 64

function mintIntents(data: OpeningIntent, { isOwn }: Facts): readonly Intent[] {
  const called = { actions: ['nft_mint'], ...calledBy(data) } as const
  const recipients = [...new Set(readMinted(data.data ?? '0x').map(({ to }) => to))]
  if (recipients.length === 0 || recipients.length > MAX_RECIPIENTS) return [intentOf({ ...called, recipient: ANY })]
  return recipients.map((recipient) => intentOf({ ...called, recipient, isToOwnWallet: isOwn(recipient) }))
}
