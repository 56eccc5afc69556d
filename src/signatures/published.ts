/** Signatures over messages and typed data as public events. */
import { published } from '../capability.ts'
import { projectEvents } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { signatureAggregate } from './aggregate.ts'
import { signatureSchema } from './schemas.ts'
import { type SignatureRow, toView } from './view.ts'

export const publishedSignatures = published(signatureAggregate, {
  resource: 'signature',
  scope: 'signatures:read',
  whole: true,
  types: {
    'signature.requested': 'The signature of a message or of typed data was requested.',
    'signature.made': 'A message or typed data was signed.',
  },
  events: {
    MessageSignatureRequested: ['signature.requested'],
    TypedDataSignatureRequested: ['signature.requested'],
    SignatureMade: ['signature.made'],
  },
  schema: named('SignatureAtEvent', signatureSchema),
  render({ id, tenantId, events }) {
    const [row] = projectEvents(signatureAggregate, events, { id, tenantId }, 'signatures')
    return row === undefined ? null : { resourceId: id, data: toView(row as SignatureRow) }
  },
})
