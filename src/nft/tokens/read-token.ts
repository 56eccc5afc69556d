/** One token in the form of the API: its mint, its metadata, and its holder. */
import type { CollectionRow } from '../collections/read-collections.ts'
import type { OwnersOf } from '../ownership/owners-of.ts'
import { type TokenDetailView, withHolder } from './mint-view.ts'
import type { MintReads } from './read-mints.ts'

export type ReadTokenPorts = { readonly reads: Pick<MintReads, 'token'>; readonly ownersOf: OwnersOf }

/** @throws NotFound `token_not_found` */
export async function readToken(
  { reads, ownersOf }: ReadTokenPorts,
  { collection_id, chain_id, contract_address }: CollectionRow,
  tokenId: string,
): Promise<TokenDetailView> {
  const view = await reads.token(collection_id, tokenId)
  const owners = (await ownersOf(chain_id, contract_address, [view.token_id])).get(view.token_id) ?? []
  return { ...withHolder(view, owners), owners }
}
