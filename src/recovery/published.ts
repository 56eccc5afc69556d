/** Exports of keys as public events. They never contain the file. */
import { Type } from '@sinclair/typebox'
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { exportAggregate } from './aggregate.ts'
import { exportSchema } from './schemas.ts'
import { type ExportRow, toView } from './view.ts'

export const publishedExports = published(exportAggregate, {
  resource: 'wallet_export',
  scope: 'recovery:read',
  types: {
    'recovery.export.requested': 'The export of the key of a wallet was requested.',
    'recovery.export.completed': 'The key of a wallet was exported, encrypted for its recipient.',
    'recovery.export.refused': 'A signer refused to export the key of a wallet.',
  },
  events: {
    WalletExportRequested: ['recovery.export.requested'],
    WalletExported: ['recovery.export.completed'],
    WalletExportRefused: ['recovery.export.refused'],
  },
  schema: named('WalletExportAtEvent', Type.Omit(exportSchema, ['ciphertext'])),
  render(source) {
    const [row] = projectChange(exportAggregate, source, 'wallet_exports')
    if (row === undefined) return null
    const { ciphertext: _, ...data } = toView({ ...(row as Omit<ExportRow, 'ciphertext'>), ciphertext: null })
    return { resourceId: source.id, data }
  },
})
