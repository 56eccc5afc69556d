/** The ports of the commands in this folder. */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import type { ImportEvidence } from '../event-log/import-log.ts'

export type ReplayPorts = {
  readonly pool: Pool
  /** Every aggregate whose streams the log holds. */
  readonly aggregates: readonly AnyAggregate[]
  readonly clock: Clock
}

/** Evidence for an import: checkpoints of the log, signed by a key that the operator vouches for. */
export type SignedEvidence = ImportEvidence & {
  /** The number of checkpoints, and of events that the newest covers. */
  readonly checkpoints: number
  readonly size: number
  /** What the operator must know about the file; `null` for nothing. */
  readonly remark: string | null
}

export type ImportPorts = ReplayPorts & {
  /** @throws BadInput for a missing file, and for one without a valid checkpoint; TreeDamaged for a checkpoint that the key did not sign */
  readonly openEvidence: (checkpointFile: string, key: string) => Promise<SignedEvidence>
}
