/** Published metadata for everybody: the very bytes that were hashed, cached for ever. */
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { NotFound, ValidationFailed } from '../../core/errors.ts'
import type { Routes } from '../../http/request.ts'
import { closedObject } from '../../http/schemas.ts'
import { canonicalCid } from './cid.ts'
import type { ReadContent } from './read-content.ts'
import { tokenMetadataSchema } from './schemas.ts'

/** Content never changes under its hash: a year is what RFC 9111's readers take for ever. */
const FOR_EVER = 'public, max-age=31536000, immutable'

const cidSchema = Type.String({
  description: 'The content identifier (CID) at the end of a `metadata_uri`.',
  examples: ['bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
})

const readMetadata = {
  tags: ['NFT'],
  summary: 'Read published metadata',
  description:
    'The metadata of a token or a collection as it was published: canonical JSON whose SHA-256 is in the CID, without the usual ' +
    'envelope. No key is needed, and pages of any origin may read it. It never changes: `ETag` is the CID.',
  params: closedObject({ cid: cidSchema }),
  response: {
    // Of a collection it has other fields.
    200: Type.Unsafe<string>({ ...tokenMetadataSchema, additionalProperties: true, description: 'Byte for byte.' }),
    304: Type.Unsafe<undefined>({ type: 'null', description: 'You have it already: `If-None-Match` names it.' }),
  },
}

export function metadataRoutes({ readContent }: { readonly readContent: ReadContent }): Routes {
  return (app) => {
    app.get(
      '/v1/nft/metadata/:cid',
      {
        schema: readMetadata,
        config: { scope: 'public', limited: true, refusals: { 422: 'What stands in the path is not a CID.' } },
      },
      async (request, reply) => {
        reply.header('access-control-allow-origin', '*')
        const cid = canonicalCid(request.params.cid)
        if (cid === null) throw malformed()
        const content = await readContent(cid)
        if (content === null) throw new NotFound('metadata')
        const etag = `"${cid}"`
        reply.header('etag', etag).header('cache-control', FOR_EVER)
        if (hasAlready(request, etag)) return reply.code(304).send(undefined)
        return reply.header('content-type', 'application/json').send(content)
      },
    )
  }
}

function malformed(): ValidationFailed {
  const message = 'cid must be a content identifier, such as the one at the end of a metadata_uri (bafkrei…).'
  return ValidationFailed.field('cid', 'invalid_cid', message)
}

/** `If-None-Match` of RFC 9110: a list of tags, of which `W/` makes no difference here, or `*` for any. */
function hasAlready({ headers }: FastifyRequest, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return tags.includes(etag) || tags.includes('*')
}
