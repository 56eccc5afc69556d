/** The URI of metadata: the one that the contract returns and that responses contain. */

/** The address of content by its CID. */
export type MetadataUri = (cid: string) => string

/** @param baseUrl value of `METADATA_BASE_URL`, with `/` at its end; null for `ipfs://` */
export function createMetadataUri(baseUrl: string | null): MetadataUri {
  const base = baseUrl ?? 'ipfs://'
  return (cid) => `${base}${cid}`
}
