/**
 * Public documents: kept in memory, compressed once, and not sent again to clients that have them. An unauthenticated
 * request costs no more than a copy of bytes.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const pack = promisify(gzip)

export type Document = {
  readonly bytes: Buffer
  /** Weak, because it identifies the compressed bytes too (RFC 9110 § 8.8.1). */
  readonly etag: string
  /** Compressed in another thread on first use, and cached. */
  readonly packed: () => Promise<Buffer>
}

export function createDocument(content: string | Buffer): Document {
  const bytes = Buffer.from(content)
  let packed: Promise<Buffer> | undefined
  return {
    bytes,
    etag: `W/"${createHash('sha256').update(bytes).digest('base64url')}"`,
    packed: () => {
      packed ??= pack(bytes, { level: 9 })
      return packed
    },
  }
}

/** Sends a document, compressed for clients that accept gzip; 304 for a client that already has it. */
export async function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: Document,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  reply.headers({ ...headers, etag: document.etag, vary: 'accept-encoding' })
  if (has(request.headers['if-none-match'], document.etag)) return reply.code(304).send()
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(document.bytes)
  return reply.header('content-encoding', 'gzip').send(await document.packed())
}

function has(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = etag.slice('W/'.length)
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === opaque)
}

/** RFC 9110 § 12.5.3; a weight of 0 means not accepted. */
function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? '')
    .split(',')
    .some((coding) => /^\s*(?:gzip|\*)\s*(?:;\s*q=(?:1|0?\.\d*[1-9]).*)?$/i.test(coding))
}
