/**
 * What each role may do with a table directly, outside of an append. Most write nothing so: `append_commits` writes the log and its
 * read models on their behalf, and functions write leases and heartbeats. A new table is one line here, and without it the build fails.
 */
import { DATABASE_ROLES, type DatabaseRole, type Table } from './roles.ts'

/** Privileges as GRANT takes them. Of read models whole tables alone: a rebuild does not carry privileges of columns over. */
export type TableGrants = Readonly<Partial<Record<DatabaseRole, string>>>

const ALL = DATABASE_ROLES
/** They answer questions about everything: clients, the operator, and whoever compares read models with the log. */
const READERS = ['api', 'auditor', 'operator'] as const

function readBy(roles: readonly DatabaseRole[], more: TableGrants = {}): TableGrants {
  return { ...Object.fromEntries(roles.map((role) => [role, 'SELECT'])), ...more }
}

export const TABLE_GRANTS: Readonly<Record<Table, TableGrants>> = {
  events: readBy(ALL),

  api_keys: readBy(READERS),
  assets: readBy([...READERS, 'follower']),
  balances: readBy([...READERS, 'dispatcher', 'follower', 'signer']),
  idempotency_keys: readBy(READERS),
  mpc_keys: readBy([...READERS, 'dispatcher', 'signer', 'party']),
  mpc_refreshes: readBy([...READERS, 'dispatcher', 'signer']),
  nft_collections: readBy([...READERS, 'follower']),
  nft_metadata: readBy([...READERS, 'dispatcher']),
  nft_mints: readBy(READERS),
  nft_owners: readBy([...READERS, 'follower']),
  nft_token_updates: readBy(READERS),
  nft_tokens: readBy(READERS),
  nft_transfer_items: readBy(READERS),
  nft_transfers: readBy(READERS),
  nft_vouchers: readBy([...READERS, 'dispatcher']),
  signatures: readBy([...READERS, 'dispatcher']),
  transactions: readBy([...READERS, 'dispatcher', 'signer', 'submitter', 'follower', 'party']),
  wallet_exports: readBy([...READERS, 'dispatcher']),
  wallet_holds: readBy([...READERS, 'signer']),
  wallets: readBy([...READERS, 'dispatcher', 'signer', 'follower', 'party']),

  // The operator takes checkpoints by hand with the auditor's key.
  // A handover to a new key of the auditor replaces the checkpoint of its size.
  audit_checkpoints: readBy(['api'], { auditor: 'SELECT, INSERT, UPDATE', operator: 'SELECT, INSERT, UPDATE' }),
  audit_tiles: readBy(['api'], { auditor: 'SELECT, INSERT, UPDATE', operator: 'SELECT, INSERT, UPDATE' }),
  audit_tree: readBy(['api'], { auditor: 'SELECT, UPDATE', operator: 'SELECT, UPDATE' }),
  chain_blocks: readBy(READERS, { follower: 'SELECT, DELETE' }),
  chain_cursors: readBy([...READERS, 'signer'], { follower: 'SELECT, UPDATE (head, updated_at)' }),
  checkpoints: readBy(READERS, { dispatcher: 'SELECT, INSERT, UPDATE' }),
  foreign_nonces: readBy(['operator'], { follower: 'SELECT, DELETE' }),
  // Signers and parties look there whether one of them still runs before they rotate a key.
  heartbeats: readBy(['api', 'dispatcher', 'operator', 'signer', 'party']),
  leases: readBy(['operator']),
  nft_pins: readBy(['operator'], { api: 'SELECT, INSERT, UPDATE', dispatcher: 'SELECT, INSERT, UPDATE, DELETE' }),
  outside_transactions: readBy([...READERS, 'signer', 'follower']),
  prices: readBy(['api', 'operator'], { follower: 'SELECT, INSERT, UPDATE, DELETE' }),
  role_rights: {},
  sealed_keys: { signer: 'SELECT, INSERT, UPDATE' },
  unread_tokens: readBy(['api', 'operator'], { follower: 'SELECT, INSERT, UPDATE, DELETE' }),
  // The API hands the sealed key to who asked for it; the dispatcher deletes it in time, and cannot read it.
  wallet_export_files: { api: 'SELECT', dispatcher: 'SELECT (expires_at), DELETE' },
}
