/** Serves published metadata publicly: exactly the bytes that were hashed, cacheable permanently. */
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { Context } from '../../context.ts'
import { NotFound, ValidationFailed } from '../../core/errors.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { named } from '../../http/components.ts'
import type { Routes } from '../../http/request.ts'
import { closedObject } from '../../http/schemas.ts'
import { canonicalCid, cidOf } from './cid.ts'
import { tokenMetadataSchema } from './schemas.ts'

/** Content of a hash never changes. A year is the usual maximum of RFC 9111 caches. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

const cidSchema = Type.String({
  description: 'The content identifier (CID) at the end of a `metadata_uri`.',
  examples: ['bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
})

const readMetadata = {
  tags: ['NFT'],
  operationId: 'getNftMetadata',
  summary: 'Get published metadata',
  description:
    'Returns the metadata of a token or a collection as it was published: canonical JSON whose SHA-256 is in the CID, without the ' +
    'usual envelope. No API key is needed, and web pages of any origin can read it. It never changes: `ETag` is the CID.',
  params: closedObject({ cid: cidSchema }),
  response: {
    // The metadata of a collection has other fields.
    200: Type.Unsafe<string>({
      ...named('PublishedMetadata', tokenMetadataSchema),
      additionalProperties: true,
      description: 'The metadata, byte for byte as it was published.',
    }),
    304: Type.Unsafe<undefined>({
      type: 'null',
      description: '`If-None-Match` names the CID, so the metadata is not sent again.',
    }),
  },
}

export function metadataRoutes({ pool }: Pick<Context, 'pool'>): Routes {
  return (app) => {
    app.get(
      '/v1/nft/metadata/:cid',
      {
        schema: readMetadata,
        config: { scope: 'public', limited: true, refusals: { 422: 'The path does not contain a CID.' } },
      },
      async (request, reply) => {
        reply.header('access-control-allow-origin', '*')
        // Images in it can contain scripts.
        reply.header('content-security-policy', "default-src 'none'; sandbox")
        const cid = canonicalCid(request.params.cid)
        if (cid === null) throw malformed()
        const content = await readContent(pool, cid)
        if (content === null) throw new NotFound('metadata')
        const etag = `"${cid}"`
        reply.header('etag', etag).header('cache-control', IMMUTABLE)
        if (hasAlready(request, etag)) return reply.code(304).send(undefined)
        return reply.header('content-type', 'application/json').send(content)
      },
    )
  }
}

function malformed(): ValidationFailed {
  const message = 'cid must be a content identifier, such as the last path segment of a metadata_uri (bafkrei…).'
  return ValidationFailed.field('cid', 'invalid_cid', message)
}

/** `If-None-Match` of RFC 9110: a list of tags, with or without `W/`, or `*` for any. */
function hasAlready({ headers }: FastifyRequest, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes(etag) || tags.includes('*')
}

/**
 * Published metadata by its CID: one lookup by primary key. Text that does not have this CID is not published.
 *
 * @returns the exact text that was hashed; null when no metadata with that CID was minted here
 */
async function readContent(pool: Pool, cid: string): Promise<string | null> {
  const { rows } = await pool.query<Pick<Row<'nft_metadata'>, 'content'>>({
    name: 'read_nft_metadata',
    text: 'SELECT content FROM nft_metadata WHERE cid = $1',
    values: [cid],
  })
  const content = rows[0]?.content
  return content !== undefined && cidOf(Buffer.from(content, 'utf8')) === cid ? content : null
}
