/** Calls of an engine as values, so that they can go to another thread, many at once, and come back as values too. */
import type { Engine } from './engine.ts'
import { EngineFailure } from './engine-wire.ts'

/** One call: the name of a function of the engine and what it is called with. */
export type EngineCall = {
  readonly [Name in keyof Engine]: { readonly name: Name; readonly with: Parameters<Engine[Name]> }
}[keyof Engine]

/** What a call gave. A failure is a value here: one session that fails is no reason to lose the others. */
export type EngineResult =
  | { readonly ok: true; readonly value: ReturnType<Engine[keyof Engine]> }
  | { readonly ok: false; readonly failure: SessionFailure }

/** Why a session of ours has no result, as it is told to the coordinator. See `EngineFailure`. */
export type SessionFailure = {
  readonly kind: EngineFailure['kind']
  /** Whose message it was; null where nobody can be named. */
  readonly party: number | null
  readonly reason: string
}

/** Runs calls one after the other. Any error but a failure of the engine is a defect, and is thrown. */
export function runCalls(engine: Engine, calls: readonly EngineCall[]): EngineResult[] {
  return calls.map((call) => {
    try {
      return { ok: true, value: runCall(engine, call) }
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error
      return { ok: false, failure: { kind: error.kind, party: error.party, reason: error.message } }
    }
  })
}

function runCall(engine: Engine, call: EngineCall): ReturnType<Engine[keyof Engine]> {
  const run = engine[call.name] as (...values: readonly unknown[]) => ReturnType<Engine[keyof Engine]>
  return run(...call.with)
}
