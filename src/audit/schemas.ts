/** What requests and answers about the audit look like on the wire. */
import { Type } from '@sinclair/typebox'
import { closedObject, instantSchema, nullable } from '../http/schemas.ts'
import type { EventPage } from './event-page.ts'
import { PROOF_FORMAT, type Proof } from './proof/proof-file.ts'

const STREAM = 'wallet-wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const HASH = '9f2b7f0c5d1e4a3b8c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3'

const eventIdSchema = Type.String({
  description: 'The id of an event: its stream and its version there. It survives an export and an import.',
  pattern: '^evt_[a-z]+-[^\\s]+\\.[1-9][0-9]{0,9}$',
  maxLength: 300,
  examples: [`evt_${STREAM}.1`],
  'x-rule': 'must be the id of an event, evt_<stream>.<version>',
  'x-code': 'invalid_id',
})

export const eventsQuery = closedObject({
  after: Type.Optional({
    ...eventIdSchema,
    description: 'The `next_after` of the page before; without it the oldest event comes first.',
  }),
  stream: Type.Optional(
    Type.String({ maxLength: 300, description: 'Events of one stream alone.', examples: [STREAM] }),
  ),
  type: Type.Optional(
    Type.String({ maxLength: 100, description: 'Events of one type alone.', examples: ['WalletCreated'] }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'How many to return: 1 to 1,000.' }),
})

const anyObject = (description: string, example: object) =>
  Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, description, examples: [example] })

const streamVersion = Type.Integer({ description: 'Its place in its stream, from 1.', examples: [1] })
const metadata = anyObject('Who did it and why.', { tenantId: 'acme', actor: 'apikey:key_01977b3e' })
const data = anyObject('As it was recorded, in the schema of `schema_version`.', { type: 'hd', network: 'ethereum' })
const hex = (description: string) => Type.String({ description, examples: [HASH] })
const streamId = Type.String({ description: 'What it happened to.', examples: [STREAM] })
const type = Type.String({ description: 'What happened.', examples: ['WalletRequested'] })
const schemaVersion = Type.Integer({ description: 'Version of the schema of `data`.', examples: [2] })

export const eventPageSchema = Type.Unsafe<EventPage>(
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
            description: 'The scope that the API key lacks to see `data`; null where it is shown.',
            examples: [null],
          }),
        ),
        metadata,
        recorded_at: instantSchema,
        hash: hex(
          'SHA-256 over the hash of the event before it in its stream, a line feed, and the canonical JSON of the event.',
        ),
      }),
    ),
    next_after: nullable(Type.String({ description: 'Ask for what comes after it.', examples: [`evt_${STREAM}.1`] })),
    has_more: Type.Boolean({ description: 'Whether there is more now.', examples: [false] }),
  }),
)

const NOTE = `example.com/bursar\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— example.com/bursar Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`
const note = Type.String({
  description: 'The signed note: C2SP tlog-checkpoint, Ed25519. Keep it as it is.',
  examples: [NOTE],
})

export const checkpointSchema = Type.Object({
  origin: Type.String({
    description: 'The name of the log, which is that of its key.',
    examples: ['example.com/bursar'],
  }),
  size: Type.Integer({ description: 'How many events of the log it covers.', examples: [20_852_163] }),
  root: Type.String({
    description: 'Root of the Merkle tree over them (RFC 6962), base64.',
    examples: ['CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='],
  }),
  note,
  taken_at: instantSchema,
})

export const proofParams = closedObject({ event_id: eventIdSchema })

/** Its fields stand in the order of the file: what `audit check` reads is this object, written with two spaces. */
export const proofSchema = Type.Unsafe<Proof>(
  Type.Object({
    format: Type.String({ description: 'The format of the proof.', examples: [PROOF_FORMAT] }),
    event_id: eventIdSchema,
    event: Type.Object({
      stream_id: streamId,
      stream_version: streamVersion,
      type,
      schema_version: schemaVersion,
      data,
      metadata,
      recorded_at: instantSchema,
    }),
    previous_hash: hex('Hash of the event before it in its stream; empty for the first one.'),
    leaf_index: Type.Integer({ description: 'Its place in the log, from 0.', examples: [4_711] }),
    path: Type.Array(hex('A hash beside the way to the root.'), { description: 'The nearest sibling first.' }),
    checkpoint: note,
  }),
)
