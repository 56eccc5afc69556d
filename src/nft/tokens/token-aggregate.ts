/** The read model of token updates: one row for each change, and its published metadata. Pure. */
import { canonicalJson } from '../../core/canonical-json.ts'
import type { Aggregate, ReadModelRow } from '../../event-log/aggregate.ts'
import { contentRows } from '../metadata/content.ts'
import { type TokenCommand, tokenDecider } from './token-decider.ts'
import type { TokenEvent } from './token-events.ts'
import type { TokenState } from './token-state.ts'

type Tables = 'nft_token_updates' | 'nft_metadata' | 'nft_pins'

export const tokenAggregate: Aggregate<TokenState, TokenCommand, TokenEvent, Tables> = {
  ...tokenDecider,
  category: 'token',
  schemas: { TokenMetadataChanged: { version: 1, upcasters: [] }, TokenFrozen: { version: 1, upcasters: [] } },
  project: (_before, { newest, updates }) => ({ rows: newest === null ? [] : rowsOf(newest, updates), holds: [] }),
}

/** The id of a token's stream: a collection may have a million tokens, and each changes independently. */
export function tokenStreamId(collectionId: string, tokenId: string): string {
  return `${collectionId}-${tokenId}`
}

function rowsOf(event: TokenEvent, sequence: number): ReadModelRow<Tables>[] {
  const { collectionId, tokenId, transactionId, requestedAt } = event.data
  const cid = event.type === 'TokenFrozen' ? null : event.data.cid
  const key = { collection_id: collectionId, token_id: tokenId, sequence }
  const row = { ...key, cid, transaction_id: transactionId, created_at: requestedAt }
  const contents =
    event.type === 'TokenFrozen'
      ? []
      : contentRows({ cid: event.data.cid, text: canonicalJson(event.data.metadata) }, requestedAt)
  return [{ table: 'nft_token_updates', row }, ...contents]
}
