/** Engine calls and results as values, so that they can be sent to another thread in batches. */
import type { Engine } from './engine.ts'
import { EngineFailure } from './engine-wire.ts'

/** One call: the name of an engine function and its arguments. */
export type EngineCall = {
  readonly [Name in keyof Engine]: { readonly name: Name; readonly with: Parameters<Engine[Name]> }
}[keyof Engine]

/** The result of a call. A failure is a value: one failed session does not affect the others. */
export type EngineResult =
  | { readonly ok: true; readonly value: ReturnType<Engine[keyof Engine]> }
  | { readonly ok: false; readonly failure: SessionFailure }

/** Why a session failed here, as reported to the coordinator. See `EngineFailure`. */
export type SessionFailure = {
  readonly kind: EngineFailure['kind']
  /** The sender of the offending message; null when it is unknown. */
  readonly party: number | null
  readonly reason: string
}

/** Runs calls one after the other. Any error that is not an EngineFailure is a defect and is thrown. */
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

/** Wipes all byte arrays in a value of plain objects, arrays and maps, including their whole buffers. */
export function wipeBytes(value: unknown): void {
  if (value instanceof Uint8Array) new Uint8Array(value.buffer).fill(0)
  else if (value instanceof Map) for (const one of value.values()) wipeBytes(one)
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) wipeBytes(one)
}
