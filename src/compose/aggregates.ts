/** Every aggregate whose streams are in the log; a replay needs all of them. */
import { apiKeyAggregate } from '../access/aggregate.ts'
import { assetAggregate } from '../assets/aggregate.ts'
import { balanceAggregate } from '../balances/aggregate.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import { chainAggregate } from '../follower/aggregate.ts'
import { mpcKeyAggregate } from '../mpc-wallets/aggregate.ts'
import { collectionAggregate } from '../nft/collections/aggregate.ts'
import { ownershipAggregate } from '../nft/ownership/aggregate.ts'
import { mintAggregate } from '../nft/tokens/mint-aggregate.ts'
import { tokenAggregate } from '../nft/tokens/token-aggregate.ts'
import { nftTransferAggregate } from '../nft/transfers/aggregate.ts'
import { exportAggregate } from '../recovery/aggregate.ts'
import { signatureAggregate } from '../signatures/aggregate.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import { walletAggregate } from '../wallets/aggregate.ts'
import { keyIndexesAggregate } from '../wallets/key-indexes.ts'

export const ALL_AGGREGATES = [
  apiKeyAggregate,
  assetAggregate,
  balanceAggregate,
  chainAggregate,
  collectionAggregate,
  exportAggregate,
  keyIndexesAggregate,
  mintAggregate,
  mpcKeyAggregate,
  nftTransferAggregate,
  ownershipAggregate,
  signatureAggregate,
  tokenAggregate,
  transactionAggregate,
  walletAggregate,
] as unknown as readonly AnyAggregate[]
