/** Serves published metadata publicly: exactly the bytes that were hashed, cacheable permanently. */
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { NotFound, ValidationFailed } from '../../core/errors.ts'
import { named } from '../../http/components.ts'
import type { Routes } from '../../http/request.ts'
import { closedObject } from '../../http/schemas.ts'
import { canonicalCid } from './cid.ts'
import type { ReadContent } from './read-content.ts'
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

export function metadataRoutes({ readContent }: { readonly readContent: ReadContent }): Routes {
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
        const content = await readContent(cid)
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
