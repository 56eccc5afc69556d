/** What counts towards each quota, from all capabilities. */
import { REGISTERED_OF_TENANT } from '../assets/sql.ts'
import { OPEN_OF_TENANT } from '../mpc-wallets/sql.ts'
import * as nft from '../nft/sql.ts'
import type { UsageCounts } from '../quotas/count-usage.ts'
import * as exports from '../recovery/sql.ts'
import * as signatures from '../signatures/sql.ts'
import { UNMINED_OF_TENANT } from '../transactions/sql.ts'
import { KEYED_OF_TENANT, REQUESTED_OF_TENANT, WATCHED_OF_TENANT } from '../wallets/sql.ts'

export const USAGE_COUNTS: UsageCounts = {
  wallets: [KEYED_OF_TENANT],
  watched_addresses: [WATCHED_OF_TENANT],
  assets: [REGISTERED_OF_TENANT],
  transactions_waiting: [UNMINED_OF_TENANT],
  ceremonies: [
    REQUESTED_OF_TENANT,
    signatures.UNSIGNED_OF_TENANT,
    nft.UNSIGNED_OF_TENANT,
    OPEN_OF_TENANT,
    exports.REQUESTED_OF_TENANT,
  ],
}
