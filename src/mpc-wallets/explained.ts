/** How `explain` reports an mpc key. */
import { explained } from '../capability.ts'
import { mpcKeyAggregate } from './aggregate.ts'

export const explainedMpcKey = explained(mpcKeyAggregate, {
  kind: 'mpcKey',
  noun: 'mpc key',
  texts: {
    MpcKeyGenerated: ({ address, threshold, parties }) =>
      `generated with address ${address}, ${threshold} of ${parties.length} parties`,
    MpcKeyAssigned: ({ walletId, tenantId }) => `assigned to wallet ${walletId} of tenant ${tenantId}`,
    MpcSharesRefreshRequested: ({ refreshId, reason }) => `share refresh ${refreshId} requested: ${reason}`,
    MpcSharesRefreshed: ({ refreshId, epoch }) => `shares refreshed by ${refreshId}: epoch ${epoch}`,
    MpcSharesRefreshFailed: ({ refreshId, message }) => `share refresh ${refreshId} failed: ${message}`,
    MpcPartyAccused: ({ party, accusedBy, reason }) => `party ${accusedBy} accused party ${party}: ${reason}`,
    MpcPartyBanned: ({ party, reason }) => `party ${party} banned until the next refresh: ${reason}`,
  },
})
