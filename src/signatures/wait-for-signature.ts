/** Lets a request wait until a signer has signed. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { type WaitUntil, waitUntilRow } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'

/** Default time that a request waits, ms: also mpc parties that are busy have signed by then. */
export const DEFAULT_SIGNATURE_WAIT_MS = 10_000

/** By signature: resolves once it exists, or with `null` after the timeout. */
export type WaitForSignature = WaitUntil<unknown>

export function createWaitForSignature(ports: { readonly pool: Pool; readonly wakeUps: WakeUps }): WaitForSignature {
  return waitUntilRow<Pick<Row<'signatures'>, 'signature_id'>>(ports, {
    name: 'made_signatures',
    text: 'SELECT signature_id FROM signatures WHERE signature_id = ANY($1) AND signature IS NOT NULL',
    id: 'signature_id',
  })
}
