/** SQL about the table `observed_transfers`. */
import type { TransferStatus } from './state.ts'

/** Waits for confirmations. */
export const DETECTED = `status = '${'detected' satisfies TransferStatus}'`
/** Its block is in the chain. */
export const STANDS = `status <> '${'orphaned' satisfies TransferStatus}'`
