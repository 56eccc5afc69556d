/** Schemas of the requests and responses about exports. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { closedObject, idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { RECIPIENT_PATTERN, RECIPIENT_RULE } from '../keys/age.ts'
import { EXPORT_REFUSALS } from './events.ts'
import { EXPORT_STATUSES } from './state.ts'

const RECIPIENT = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'

const exportIdSchema = idSchema('exp', 'The id of the export.')

export const exportParams = closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') })
export const exportDetailParams = closedObject({
  wallet_id: idSchema('wal', 'The id of the wallet.'),
  export_id: idSchema('exp', 'The id of the export.'),
})

const recipientSchema = Type.String({
  description:
    'The age X25519 recipient that can decrypt the file. `age-keygen` and `npm run recovery -- keygen` create one.',
  examples: [RECIPIENT],
  pattern: RECIPIENT_PATTERN,
  'x-rule': RECIPIENT_RULE,
  'x-code': 'invalid_recipient',
})

export const exportBody = closedObject({ recipient: recipientSchema })

export const exportSchema = named(
  'WalletExport',
  Type.Object({
    export_id: exportIdSchema,
    wallet_id: idSchema('wal', 'The id of the wallet.'),
    status: oneOf(EXPORT_STATUSES, {
      description: '`requested` until a signer has encrypted the key.',
      examples: ['exported'],
    }),
    recipient: recipientSchema,
    ciphertext: nullable(
      Type.String({
        description:
          'An armored age file. `age -d -i identity.txt` decrypts it to JSON with address, private_key, derivation_path and network. Null until it is exported.',
        examples: ['-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24u…\n-----END AGE ENCRYPTED FILE-----\n'],
      }),
    ),
    sha256: nullable(
      Type.String({
        description: 'The SHA-256 digest of the file. It is recorded permanently. Null until it is exported.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    ),
    expires_at: nullable(instant('When the file is deleted, an hour after it was created. Null until it is exported.')),
    requested_at: instant('When the export was requested.'),
    exported_at: nullable(instant('When the key was exported. Null until then.')),
    failure: nullable(
      Type.Object(
        {
          code: oneOf(EXPORT_REFUSALS, { description: 'A stable error code.', examples: ['request_expired'] }),
          message: Type.String({
            description: 'The reason, for people.',
            examples: ['No signer was available in time: request a new export.'],
          }),
        },
        { description: 'Why the export was refused. Null unless it was.' },
      ),
    ),
  }),
)
