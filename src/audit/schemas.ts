/** Schemas of the requests and responses about the audit. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { closedObject, instant, nullable } from '../http/schemas.ts'
import { PROOF_FORMAT } from './proof/proof-file.ts'

const STREAM = 'wallet-wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const HASH = '9f2b7f0c5d1e4a3b8c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3'

const eventIdSchema = Type.String({
  description: 'The id of the event: its stream and its version in it. An export and import of the log keeps it.',
  pattern: '^evt_[a-z]+-[^\\s]+\\.[1-9][0-9]{0,9}$',
  maxLength: 300,
  examples: [`evt_${STREAM}.1`],
  'x-rule': 'must be the id of an event, evt_<stream>.<version>',
  'x-code': 'invalid_id',
})

export const eventsQuery = closedObject({
  after: Type.Optional({
    ...eventIdSchema,
    description: 'The `next_after` of the previous page. Omit it to start with the oldest event.',
  }),
  stream: Type.Optional(
    Type.String({ maxLength: 300, description: 'Only events of this stream.', examples: [STREAM] }),
  ),
  type: Type.Optional(
    Type.String({ maxLength: 100, description: 'Only events of this type.', examples: ['WalletCreated'] }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description: 'Maximum number of events to return, from 1 to 1,000.',
  }),
})

const anyObject = (description: string, example: object) =>
  Type.Unknown({ type: 'object', additionalProperties: true, description, examples: [example] })

const streamVersion = Type.Integer({ description: 'The position of the event in its stream, from 1.', examples: [1] })
const metadata = anyObject('Who caused the event, and by which request.', {
  tenantId: 'acme',
  actor: 'apikey:key_01977b3e',
})
const data = anyObject('The data as it was recorded, in the schema of `schema_version`.', {
  type: 'hd',
  network: 'ethereum',
})
const recorded_at = instant('When the event was recorded.')
const hex = (description: string) => Type.String({ description, examples: [HASH] })
const streamId = Type.String({
  description: 'The stream of the event: the resource that it belongs to.',
  examples: [STREAM],
})
const type = Type.String({ description: 'The type of the event.', examples: ['WalletRequested'] })
const schemaVersion = Type.Integer({ description: 'The version of the schema of `data`.', examples: [2] })

export const eventPageSchema = named(
  'AuditEventPage',
  Type.Object({
    events: Type.Array(
      Type.Object({
        event_id: eventIdSchema,
        stream_id: streamId,
        stream_version: streamVersion,
        type,
        schema_version: schemaVersion,
        data: nullable(data),
        needs_scope: nullable(
          Type.String({
            description:
              'The scope that is required to see `data`, if the API key does not have it. Null if `data` is included.',
            examples: [null],
          }),
        ),
        metadata,
        recorded_at,
        hash: hex(
          'SHA-256 over the hash of the previous event of its stream, a line feed, and the canonical JSON of the event.',
        ),
      }),
      { description: 'The events of this page, oldest first.' },
    ),
    next_after: nullable(
      Type.String({ description: 'Pass it as `after` to get the next page.', examples: [`evt_${STREAM}.1`] }),
    ),
    has_more: Type.Boolean({ description: 'Whether there are more events now.', examples: [false] }),
  }),
)

const NOTE = `example.com/bursar\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— example.com/bursar Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`
const note = Type.String({
  description: 'The signed note: C2SP tlog-checkpoint, Ed25519. Keep it unchanged.',
  examples: [NOTE],
})

export const checkpointSchema = named(
  'AuditCheckpoint',
  Type.Object({
    origin: Type.String({
      description: 'The name of the log, which is the name of its key.',
      examples: ['example.com/bursar'],
    }),
    size: Type.Integer({ description: 'How many events of the log the checkpoint covers.', examples: [20_852_163] }),
    root: Type.String({
      description: 'The root of the Merkle tree over these events (RFC 6962), in base64.',
      examples: ['CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='],
    }),
    note,
    taken_at: instant('When the checkpoint was taken.'),
  }),
)

export const proofParams = closedObject({ event_id: eventIdSchema })

/** The fields are in the order of the proof file: `audit check` reads this object, indented by two spaces. */
export const proofSchema = named(
  'AuditProof',
  Type.Object({
    format: Type.String({ description: 'The format of the proof.', examples: [PROOF_FORMAT] }),
    event_id: eventIdSchema,
    event: Type.Object(
      {
        stream_id: streamId,
        stream_version: streamVersion,
        type,
        schema_version: schemaVersion,
        data,
        metadata,
        recorded_at,
      },
      { description: 'The event, without its hash.' },
    ),
    previous_hash: hex('The hash of the previous event of its stream. Empty for the first event.'),
    leaf_index: Type.Integer({ description: 'The position of the event in the log, from 0.', examples: [4_711] }),
    path: Type.Array(hex('The hash of a sibling on the path to the root.'), {
      description: 'The hashes of the siblings on the path to the root, nearest first.',
    }),
    checkpoint: note,
  }),
)
