/** What requests and answers about exports look like on the wire. */
import { Type } from '@sinclair/typebox'
import { closedObject, idSchema, instantSchema, nullable, oneOf } from '../http/schemas.ts'
import { RECIPIENT_PATTERN, RECIPIENT_RULE } from './age.ts'
import { EXPORT_REFUSALS } from './events.ts'
import type { ExportView } from './read-exports.ts'
import { EXPORT_STATUSES } from './state.ts'

const RECIPIENT = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'

const exportIdSchema = idSchema('export', 'Names the export.')

export const exportParams = closedObject({ wallet_id: idSchema('wallet', 'The wallet.') })
export const exportDetailParams = closedObject({
  wallet_id: idSchema('wallet', 'The wallet.'),
  export_id: idSchema('export', 'The export.'),
})

const recipientSchema = Type.String({
  description:
    'Who can open it: the age X25519 recipient of an identity of yours. `age-keygen` and `npm run recovery -- keygen` make one.',
  examples: [RECIPIENT],
  pattern: RECIPIENT_PATTERN,
  'x-rule': RECIPIENT_RULE,
  'x-code': 'invalid_recipient',
})

export const exportBody = closedObject({ recipient: recipientSchema })

export const exportSchema = Type.Unsafe<ExportView>(
  Type.Object({
    export_id: exportIdSchema,
    wallet_id: idSchema('wallet', 'The wallet.'),
    status: oneOf(EXPORT_STATUSES, {
      description: '`requested` until a signer has sealed the key, which takes a moment.',
      examples: ['exported'],
    }),
    recipient: recipientSchema,
    ciphertext: nullable(
      Type.String({
        description:
          'An armored age file: `age -d -i identity.txt` opens it. It holds JSON: address, private_key, derivation_path, network.',
        examples: ['-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24u…\n-----END AGE ENCRYPTED FILE-----\n'],
      }),
    ),
    sha256: nullable(
      Type.String({
        description: 'SHA-256 of the file. It stands in the log for ever.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    ),
    expires_at: nullable({
      ...instantSchema,
      description: 'When the file is deleted here, an hour after it was made.',
    }),
    requested_at: instantSchema,
    exported_at: nullable(instantSchema),
    failure: nullable(
      Type.Object(
        {
          code: oneOf(EXPORT_REFUSALS, { examples: ['request_expired'] }),
          message: Type.String({ examples: ['No signer came in time: request a new export.'] }),
        },
        { description: 'Why it was refused. Null unless it was.' },
      ),
    ),
  }),
)
