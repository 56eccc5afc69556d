/** The settings of the audit: where the key and the checkpoints are stored, and how often a checkpoint is taken. */
import { join, resolve } from 'node:path'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { declareSettings } from '../config/declare-settings.ts'
import { milliseconds, text } from '../config/schema-kinds.ts'

const AUDIT_SETTINGS = {
  AUDIT_KEY_FILE: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File with the key that signs checkpoints of the event log. The auditor creates it on its first start. The default is `$DATA_DIR/audit/audit.key`. The public key is in the same directory.',
    }),
  ),
  AUDIT_ORIGIN: text('^[!-*,-~]{1,200}$', 'must be 1 to 200 visible ASCII characters without spaces or plus signs', {
    description:
      'The name of the event log in its checkpoints, such as `example.com/bursar`. The default is derived from the key.',
  }),
  AUDIT_CHECKPOINT_FILE: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File that stores every checkpoint outside the database. The default is `$DATA_DIR/audit/checkpoints`.',
    }),
  ),
  AUDIT_CHECKPOINT_INTERVAL_MS: milliseconds(
    { minimum: 1_000, maximum: 86_400_000, default: 300_000 },
    'How often the auditor signs the event log, if it has new events.',
  ),
}

type AuditConfig = {
  readonly keyFile: string
  /** Null for a name derived from the key. */
  readonly origin: string | null
  readonly checkpointFile: string
  /** Whether a setting names that file: then it must be there once a checkpoint was signed. */
  readonly isCheckpointFileNamed: boolean
  readonly checkpointIntervalMs: number
}

function auditConfig(input: Static<TObject<typeof AUDIT_SETTINGS>>, dataDir: string): AuditConfig {
  return {
    keyFile: resolve(input.AUDIT_KEY_FILE ?? join(dataDir, 'audit', 'audit.key')),
    origin: input.AUDIT_ORIGIN ?? null,
    checkpointFile: resolve(input.AUDIT_CHECKPOINT_FILE ?? join(dataDir, 'audit', 'checkpoints')),
    isCheckpointFileNamed: input.AUDIT_CHECKPOINT_FILE !== undefined,
    checkpointIntervalMs: input.AUDIT_CHECKPOINT_INTERVAL_MS,
  }
}

export const auditSettings = {
  audit: declareSettings({
    group: 'keys',
    settings: AUDIT_SETTINGS,
    read: (values, { dataDir }) => auditConfig(values, dataDir),
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    readonly audit: AuditConfig
  }
}
