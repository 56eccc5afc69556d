/** Which database holds the log, and when there was evidence that it went back to an earlier state. */
import type { Event } from '../core/messages.ts'

/** `systemIdentifier`: of the data directory, decimal digits. `timeline`: changes with a recovery and a promotion. */
export type DatabaseIdentity = { readonly systemIdentifier: string; readonly timeline: number }

/** A signed state of the log: the number of its first events and the root of their tree, hex. */
export type SignedState = { readonly size: number; readonly root: string }

/**
 * `system_identifier` and `timeline`: another one than the log recorded last. `checkpoint`: the log lacks events that the
 * auditor has signed.
 */
export type RestoreEvidence = 'system_identifier' | 'timeline' | 'checkpoint'

export type DatabaseIdentified = Event<'DatabaseIdentified', DatabaseIdentity & { readonly identifiedAt: string }>

/** The database went back to an earlier state, or may have: a failover that lost nothing looks the same. */
export type RestoreDetected = Event<
  'RestoreDetected',
  DatabaseIdentity & {
    readonly evidence: readonly RestoreEvidence[]
    /** The newest signed state that the log lacks. */
    readonly checkpoint: SignedState | null
    /**
     * The log went back to before `DatabaseIdentified`, or that cannot be excluded: signatures that it has forgotten may
     * be of a version of Bursar that recorded no identity.
     */
    readonly untagged: boolean
    readonly detectedAt: string
  }
>

export type DatabaseEvent = DatabaseIdentified | RestoreDetected
