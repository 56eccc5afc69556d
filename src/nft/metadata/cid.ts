/**
 * Content identifiers of metadata: CIDv1, codec raw, SHA-256, in base32, as `ipfs add --cid-version=1` computes it for
 * content of one block (at most 256 KiB). The chain stores only the digest, as 32 bytes.
 */
import { createHash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { create, type Digest } from 'multiformats/hashes/digest'

/** Codes of the multicodec table. */
const RAW = 0x55
const SHA2_256 = 0x12

const DIGEST = /^0x[0-9a-f]{64}$/i

/** The CID of content, such as `bafkrei…`. */
export function cidOf(bytes: Uint8Array): string {
  return write(createHash('sha256').update(bytes).digest())
}

/**
 * The SHA-256 digest in a CID from `cidOf`: `0x` and 64 hexadecimal digits, as a contract expects it.
 *
 * @throws TypeError for any other CID
 */
export function digestOf(cid: string): string {
  const { version, code, multihash } = CID.parse(cid)
  if (version !== 1 || code !== RAW || multihash.code !== SHA2_256)
    throw new TypeError(`not a CIDv1 with the raw codec and SHA-256: ${cid}`)
  return `0x${Buffer.from(multihash.digest).toString('hex')}`
}

/**
 * The CID for a digest in a contract.
 *
 * @param digest `0x` and 64 hexadecimal digits
 * @throws TypeError for anything else
 */
export function cidOfDigest(digest: string): string {
  if (!DIGEST.test(digest)) throw new TypeError(`not a 32-byte digest: ${digest}`)
  return write(Buffer.from(digest.slice(2), 'hex'))
}

/**
 * Parses a CID in a common encoding (base32, base36, base58btc) and returns the encoding used as key here. Any codec
 * and hash is accepted; `null` when it is not a CID.
 */
export function canonicalCid(text: string): string | null {
  try {
    return CID.parse(text).toString()
  } catch {
    return null
  }
}

function write(sha256: Uint8Array): string {
  const digest: Digest<typeof SHA2_256, number> = create(SHA2_256, sha256)
  return CID.createV1(RAW, digest).toString()
}
