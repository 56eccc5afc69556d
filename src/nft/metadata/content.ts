/**
 * Published metadata: one canonical text for one value (RFC 8785), so that equal metadata always has the same content
 * and CID.
 */
import { canonicalJson } from '../../core/canonical-json.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { ReadModelRow } from '../../event-log/aggregate.ts'
import { cidOf, digestOf } from './cid.ts'

/** Of a token, with the field names of ERC-721 and ERC-1155. Its schema, with every rule, is in schemas.ts. */
export type TokenMetadata = {
  readonly name: string
  readonly description?: string
  readonly image?: string
  readonly attributes?: readonly { readonly trait_type: string; readonly value: string }[]
}

/** Of a collection, with the field names of ERC-7572. */
export type CollectionDocument = {
  readonly name: string
  readonly symbol?: string
  readonly description?: string
  readonly image?: string
  readonly external_link?: string
}

/** One IPFS block: up to this size a file is a single raw leaf, and its CID is the hash of its bytes. */
export const MAX_CONTENT_BYTES = 256 * 1024

export type Content = {
  readonly cid: string
  /** SHA-256 of `text` in UTF-8: `0x` and 64 hexadecimal digits. */
  readonly digest: string
  readonly text: string
}

/**
 * The content that is published for a metadata object.
 *
 * @param metadata with valid fields
 * @param field the object's place in the request: `metadata`, `items[3].metadata`
 * @throws ValidationFailed `too_large` when it exceeds one block
 */
export function contentOf(metadata: TokenMetadata | CollectionDocument, field = 'metadata'): Content {
  const text = canonicalJson(metadata)
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length > MAX_CONTENT_BYTES) {
    const message = `${field} has ${bytes.length} bytes as JSON, and the limit is ${MAX_CONTENT_BYTES}: shorten it, or host a large image elsewhere and send its URL.`
    throw ValidationFailed.field(field, 'too_large', message)
  }
  const cid = cidOf(bytes)
  return { cid, digest: digestOf(cid), text }
}

/**
 * The rows that keep content readable and schedule its pin. For equal content the first rows are kept.
 *
 * @param recordedAt when the event with the metadata was recorded: the pin is due from then on
 */
export function contentRows(
  { cid, text }: Pick<Content, 'cid' | 'text'>,
  recordedAt: string,
): ReadModelRow<'nft_metadata' | 'nft_pins'>[] {
  return [
    { table: 'nft_metadata', row: { cid, content: text } },
    { table: 'nft_pins', row: { cid, pinned_at: null, due_at: recordedAt } },
  ]
}

/**
 * The URI of metadata: the one that the contract returns and that responses contain.
 *
 * @param baseUrl value of `METADATA_BASE_URL`, with `/` at its end; null for `ipfs://`
 * @param cid of the content; empty for the prefix of all
 */
export const metadataUri = (baseUrl: string | null, cid: string): string => `${baseUrl ?? 'ipfs://'}${cid}`
