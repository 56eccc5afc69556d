/**
 * Metadata as it is published: one canonical text for one value (RFC 8785), so that equal metadata is one piece of content
 * with one CID, wherever it comes from.
 */
import { canonicalJson } from '../../core/canonical-json.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { ReadModelRow } from '../../event-log/aggregate.ts'
import { cidOf, digestOf } from './cid.ts'

/** Of a token, as ERC-721 and ERC-1155 name the fields. Its schema, with every rule, is in schemas.ts. */
export type TokenMetadata = {
  readonly name: string
  readonly description?: string
  readonly image?: string
  readonly attributes?: readonly { readonly trait_type: string; readonly value: string }[]
}

/** Of a collection, as ERC-7572 names the fields. */
export type CollectionDocument = {
  readonly name: string
  readonly symbol?: string
  readonly description?: string
  readonly image?: string
  readonly external_link?: string
}

/** One IPFS block: up to this size a file is a single raw leaf, and its CID is the hash of the very bytes. */
export const MAX_CONTENT_BYTES = 256 * 1024

export type Content = {
  readonly cid: string
  /** SHA-256 of `text` in UTF-8: `0x` and 64 hexadecimal digits. */
  readonly digest: string
  readonly text: string
}

/**
 * The content that a metadata object is published as.
 *
 * @param metadata every field within its rules already
 * @param field where the object stands in the request: `metadata`, `items[3].metadata`
 * @throws ValidationFailed `too_large` when it does not fit into one block
 */
export function contentOf(metadata: TokenMetadata | CollectionDocument, field = 'metadata'): Content {
  const text = canonicalJson(metadata)
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length > MAX_CONTENT_BYTES) {
    const message = `${field} has ${bytes.length} bytes as JSON and may have ${MAX_CONTENT_BYTES}: shorten it, or put a large image elsewhere and name its address.`
    throw ValidationFailed.field(field, 'too_large', message)
  }
  const cid = cidOf(bytes)
  return { cid, digest: digestOf(cid), text }
}

/**
 * The rows that keep content readable and have it pinned. Of equal content the first rows stay.
 *
 * @param recordedAt when the event that holds the metadata was recorded: from then on it is due to be pinned
 */
export function contentRows({ cid, text }: Pick<Content, 'cid' | 'text'>, recordedAt: string): ReadModelRow[] {
  return [
    { table: 'nft_metadata', row: { cid, content: text } },
    { table: 'nft_pins', row: { cid, pinned_at: null, due_at: recordedAt } },
  ]
}
