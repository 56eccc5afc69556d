/** What the sandbox prepares for capabilities, in the order in which chains get it and the user is told of it. */
import { mpcWallets } from './added/mpc-wallets.ts'
import { nft } from './added/nft.ts'
import { swaps } from './added/swaps.ts'
import { webhooks } from './added/webhooks.ts'
import type { Addition } from './addition.ts'

const BY_NAME = {
  nft,
  swaps,
  webhooks,
  mpcWallets,
} satisfies Readonly<Record<string, Addition>>

export const ADDITIONS: readonly Addition[] = Object.values(BY_NAME)
