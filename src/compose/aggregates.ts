/** Every aggregate whose streams the log holds: what replays the log needs them all. */
import { apiKeyAggregate } from '../access/projection.ts'
import { assetAggregate } from '../assets/projection.ts'
import { balanceAggregate } from '../balances/projection.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import { chainAggregate } from '../follower/aggregate.ts'
import { mpcKeyAggregate } from '../mpc-keys/projection.ts'
import { collectionAggregate } from '../nft/collections/projection.ts'
import { mintAggregate } from '../nft/mints/projection.ts'
import { ownershipAggregate } from '../nft/ownership/projection.ts'
import { tokenAggregate } from '../nft/tokens/projection.ts'
import { nftTransferAggregate } from '../nft/transfers/projection.ts'
import { exportAggregate } from '../recovery/projection.ts'
import { signatureAggregate } from '../signatures/projection.ts'
import { transactionAggregate } from '../transactions/projection.ts'
import { keyIndexesAggregate } from '../wallets/key-indexes.ts'
import { walletAggregate } from '../wallets/projection.ts'

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
