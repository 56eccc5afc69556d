/** What the commands of this folder are handed. */
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

/** What an import is held against: checkpoints of the log, signed by a key that the operator vouches for. */
export type SignedEvidence = ImportEvidence & {
  /** How many checkpoints there are, and the events that the newest covers. */
  readonly checkpoints: number
  readonly size: number
}

export type ImportPorts = ReplayPorts & {
  /** @throws BadInput for a file that is not there; TreeDamaged for a checkpoint that the key did not sign */
  readonly openEvidence: (checkpointFile: string, key: string) => Promise<SignedEvidence>
}
