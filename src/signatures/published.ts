/** Signatures over messages and typed data as public events. */
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { signatureAggregate } from './aggregate.ts'
import { signatureSchema } from './schemas.ts'
import { type SignatureRow, toView } from './view.ts'

export const publishedSignatures = published(signatureAggregate, {
  resource: 'signature',
  scope: 'signatures:read',
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
  render(source) {
    const [row] = projectChange(signatureAggregate, source, 'signatures')
    return row === undefined ? null : { resourceId: source.id, data: toView(row as SignatureRow) }
  },
})
