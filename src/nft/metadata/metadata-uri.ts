/** Where the metadata of a token is found: the address that the contract tells and that answers carry. */

/** The address of content by its CID. */
export type MetadataUri = (cid: string) => string

/**
 * @param baseUrl as `METADATA_BASE_URL` has it, with `/` at its end; null for the address on IPFS
 */
export function createMetadataUri(baseUrl: string | null): MetadataUri {
  const base = baseUrl ?? 'ipfs://'
  return (cid) => `${base}${cid}`
}
