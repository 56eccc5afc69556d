/** The work of wallets: those that wait for their address. */
import { streamWork } from '../jobs/work.ts'
import type { WalletEvent } from './events.ts'
import { REQUESTED } from './sql.ts'

/** Wallets by job ids that are wallet ids. */
export const WALLETS_THEMSELVES = { wallets: 'SELECT id, id AS wallet_id FROM unnest($1::text[]) AS id' }

export const walletWork = streamWork<WalletEvent>({
  name: 'wallets',
  queue: 'wallet',
  category: 'wallet',
  field: 'wallet_id',
  from: ['WalletRequested'],
  waiting: `SELECT wallet_id AS id, tenant_id, created_at AS at FROM wallets WHERE ${REQUESTED} AND created_at < $1`,
  owners: WALLETS_THEMSELVES,
})
