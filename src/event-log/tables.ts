/**
 * The relation of each table to the log. Every table of `prisma/schema.prisma` is listed once: either it can be rebuilt
 * from the log alone, or the reason why not is given.
 */

/**
 * How rows of a read model are derived from streams. `stream`: each row from one stream. `first`: several streams may
 * write the same row with the same content. `sum`: the changes of all streams added up. `key`: a client's request,
 * which may have opened several streams.
 */
export type ReadModelKind = 'stream' | 'first' | 'sum' | 'key'

export const READ_MODELS = {
  api_keys: 'stream',
  assets: 'stream',
  balances: 'stream',
  idempotency_keys: 'key',
  mpc_keys: 'stream',
  mpc_refreshes: 'stream',
  nft_collections: 'stream',
  nft_metadata: 'first',
  nft_mints: 'stream',
  nft_owners: 'stream',
  nft_token_updates: 'stream',
  nft_tokens: 'stream',
  nft_transfer_items: 'stream',
  nft_transfers: 'stream',
  nft_vouchers: 'stream',
  signatures: 'stream',
  transactions: 'stream',
  wallet_exports: 'stream',
  wallet_holds: 'sum',
  wallets: 'stream',
} as const satisfies Readonly<Record<string, ReadModelKind>>

export type ReadModel = keyof typeof READ_MODELS

/** Tables that cannot be rebuilt from the log, with the reason and how an import or restore treats them. */
export const BESIDE_THE_LOG = {
  audit_checkpoints: 'tree heads that were signed; the auditor of another installation signs its own',
  audit_tiles: 'the tree over the log by places in it; the auditor makes it again, with the same root',
  audit_tree: 'how far the auditor has read',
  chain_blocks: 'seen on the chain; an export carries them',
  chain_cursors: 'how far the follower has walked; an export carries them',
  checkpoints: 'how far subscriptions have read; they begin anew elsewhere, and what they queue again changes nothing',
  foreign_nonces: 'seen on the chain: where to look for what used a nonce; what is missing is searched for',
  heartbeats: 'which processes live',
  leases: 'who may act alone now',
  nft_pins: 'what the IPFS node confirmed; an import has everything pinned anew',
  outside_transactions: 'seen on the chain; what a database that went back has forgotten is found there',
  prices: 'seen on the chain',
  role_rights: 'what each database role may append; npm run migrate writes it',
  sealed_keys: 'secrets, sealed: they are moved with the keystore',
  unread_tokens: 'what nodes said of contracts; elsewhere every token is read anew',
  wallet_export_files: 'sealed keys for an hour, on purpose in no event',
} as const

export const READ_MODEL_NAMES = Object.keys(READ_MODELS) as readonly ReadModel[]

export function isReadModel(name: string): name is ReadModel {
  return Object.hasOwn(READ_MODELS, name)
}
