/**
 * Decides whether what a signer sees of its database is evidence of a restore. Pure.
 *
 * Invariant: evidence is recorded once, however often and in however many processes it is seen.
 */
import type { Decider } from '../core/messages.ts'
import type { DatabaseEvent, DatabaseIdentity, RestoreEvidence, SignedState } from './events.ts'

export type DatabaseState = {
  /** The newest recorded one; `null` before the first. */
  readonly identity: DatabaseIdentity | null
  /** How often there was evidence. */
  readonly restores: number
  /** Whether one of the restores went back to before the first identity. */
  readonly untagged: boolean
  /** Signed states that the log lacks and that are recorded. */
  readonly missing: readonly SignedState[]
}

export type DatabaseCommand = {
  readonly type: 'Observe'
  readonly identity: DatabaseIdentity
  /** The newest signed state that the log lacks. */
  readonly missing: SignedState | null
  /** Whether the first identity was recorded before a state that the log and the signer of `missing` share. */
  readonly identifiedBefore: boolean
  readonly now: string
}

export const databaseDecider: Decider<DatabaseState, DatabaseCommand, DatabaseEvent> = {
  initialState: { identity: null, restores: 0, untagged: false, missing: [] },
  decide({ identity, missing, identifiedBefore, now }, state) {
    const evidence = evidenceOf(state, identity, missing)
    const first: DatabaseEvent[] =
      state.identity === null ? [{ type: 'DatabaseIdentified', data: { ...identity, identifiedAt: now } }] : []
    if (evidence.length === 0) return first
    const isMissing = evidence.includes('checkpoint')
    const untagged = isMissing && !(state.identity !== null && identifiedBefore)
    const checkpoint = isMissing ? missing : null
    return [
      ...first,
      { type: 'RestoreDetected', data: { ...identity, evidence, checkpoint, untagged, detectedAt: now } },
    ]
  },
  evolve(state, event) {
    const { systemIdentifier, timeline } = event.data
    const identity = { systemIdentifier, timeline }
    if (event.type === 'DatabaseIdentified') return { ...state, identity }
    const { untagged, checkpoint } = event.data
    return {
      identity,
      restores: state.restores + 1,
      untagged: state.untagged || untagged,
      missing: checkpoint === null ? state.missing : [...state.missing, checkpoint],
    }
  },
}

function evidenceOf(
  state: DatabaseState,
  { systemIdentifier, timeline }: DatabaseIdentity,
  missing: SignedState | null,
): RestoreEvidence[] {
  const { identity } = state
  const isRecorded = state.missing.some(({ size, root }) => size === missing?.size && root === missing.root)
  return [
    ...(identity !== null && identity.systemIdentifier !== systemIdentifier ? (['system_identifier'] as const) : []),
    ...(identity !== null && identity.timeline !== timeline ? (['timeline'] as const) : []),
    ...(missing !== null && !isRecorded ? (['checkpoint'] as const) : []),
  ]
}
