/**
 * The threshold signature engine (DKLs23, ePrint 2023/765): the crate in `engine/`, compiled to WebAssembly, with
 * randomness from Node's `crypto`. One engine is the memory of one party; its shares and sessions are identified by
 * number.
 *
 * It does no I/O: each step takes the others' messages of the previous round and returns the messages of the next.
 */
import { randomFillSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  type EngineAnswer,
  type LoadedShare,
  type Messages,
  RequestWriter,
  readAnswer,
  type Step,
} from './engine-wire.ts'

type WasmModule = { readonly compiled: true }
type WasmMemory = { readonly buffer: ArrayBuffer }

/**
 * The parts of the WebAssembly JavaScript API used here. Node supports it, but its types only ship with those of
 * browsers.
 */
type WebAssemblyApi = {
  readonly Module: {
    new (bytes: Uint8Array): WasmModule
    imports(module: WasmModule): readonly { readonly module: string; readonly name: string }[]
  }
  readonly Instance: new (
    module: WasmModule,
    imports: Readonly<Record<string, Readonly<Record<string, (...values: number[]) => void>>>>,
  ) => { readonly exports: unknown }
}

const wasm = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly

export type Engine = {
  /** @throws EngineFailure `invalid` for bytes that are not a share, or whose secret and public parts do not match */
  readonly load: (share: Uint8Array) => LoadedShare
  readonly unload: (share: number) => void
  /** Begins key generation; its result is a share, for `load`. Four rounds among all parties. */
  readonly generate: (request: {
    readonly party: number
    readonly threshold: number
    readonly parties: number
    readonly sessionId: Uint8Array
  }) => Step
  /**
   * Begins a signature of exactly `threshold` signers over a 32-byte digest; three rounds. Only the finisher gets a
   * result: 65 bytes (r, s, recovery id), s in the lower half of the order, verified.
   *
   * @param request.others the signers besides this party
   * @param request.sessionId the same for all signers, fresh for each attempt
   */
  readonly sign: (request: {
    readonly share: number
    readonly others: readonly number[]
    readonly finisher: number
    readonly sessionId: Uint8Array
    readonly digest: Uint8Array
  }) => Step
  /** Begins a refresh among all parties; its result is a share of the same key, for `load`. Four rounds. */
  readonly refresh: (request: { readonly share: number; readonly refreshId: Uint8Array }) => Step
  /**
   * Continues a session.
   *
   * @param incoming the messages of each other party of the previous round
   * @throws EngineFailure: the session no longer exists then
   */
  readonly advance: (session: number, incoming: Messages) => Step
  /** Removes a session. */
  readonly end: (session: number) => void
  /** A helper's message for the party that lost its share; it must go to no other party. */
  readonly help: (request: Repair & { readonly share: number; readonly repairId: Uint8Array }) => Uint8Array
  /** Combines the terms of all helpers into a share that can be refreshed but cannot sign. */
  readonly assemble: (request: Repair & { readonly terms: Messages }) => Uint8Array
}

/** `helpers` in ascending order, at least the threshold, without the target. */
export type Repair = { readonly target: number; readonly helpers: readonly number[] }

type Exports = {
  readonly memory: WasmMemory
  readonly reserve: (length: number) => number
  readonly call: (address: number, length: number) => bigint
  readonly release: (address: number, length: number) => void
}

const OPERATION = {
  load: 0,
  unload: 1,
  generate: 2,
  sign: 3,
  refresh: 4,
  advance: 5,
  end: 6,
  help: 7,
  assemble: 8,
} as const

let compiled: WasmModule | undefined

/** A new engine with an empty memory. */
export function createEngine(): Engine {
  compiled ??= new wasm.Module(readFileSync(new URL('./engine/engine.wasm', import.meta.url)))
  const exports = instantiate(compiled)

  function call(request: RequestWriter): EngineAnswer {
    const bytes = request.finish()
    const address = exports.reserve(bytes.length) >>> 0
    new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes)
    bytes.fill(0)
    const packed = exports.call(address, bytes.length)
    const [at, length] = [Number(packed >> 32n), Number(packed & 0xffff_ffffn)]
    // A separate allocation, never part of the buffer pool, so that it can be wiped and is not transferred to another
    // thread by accident.
    const answer = Buffer.from(new Uint8Array(exports.memory.buffer, at, length).slice().buffer)
    exports.release(at, length)
    return readAnswer(answer)
  }

  const request = (operation: keyof typeof OPERATION) => new RequestWriter().byte(OPERATION[operation])

  return {
    load: (share) => call(request('load').bytes(share)).share(),
    unload: (share) => void call(request('unload').number(share)),
    generate: ({ party, threshold, parties, sessionId }) =>
      call(request('generate').byte(party).byte(threshold).byte(parties).bytes(sessionId)).step(),
    sign: ({ share, others, finisher, sessionId, digest }) =>
      call(
        request('sign').number(share).byte(finisher).bytes(Uint8Array.from(others)).bytes(sessionId).bytes(digest),
      ).step(),
    refresh: ({ share, refreshId }) => call(request('refresh').number(share).bytes(refreshId)).step(),
    advance: (session, incoming) => call(request('advance').number(session).messages(incoming)).step(),
    end: (session) => void call(request('end').number(session)),
    help: ({ share, target, helpers, repairId }) =>
      call(request('help').number(share).byte(target).bytes(Uint8Array.from(helpers)).bytes(repairId)).result(),
    assemble: ({ target, helpers, terms }) =>
      call(request('assemble').byte(target).bytes(Uint8Array.from(helpers)).messages(terms)).result(),
  }
}

/**
 * The module imports one functional import: `getRandomValues`, from the backend `wasm_js` of the crate `getrandom`. The
 * rest is unused scaffolding of wasm-bindgen, which ends the engine if it is called.
 */
function instantiate(module: WasmModule): Exports {
  const imports: Record<string, Record<string, (...values: number[]) => void>> = {}
  for (const { module: from, name } of wasm.Module.imports(module)) {
    imports[from] ??= {}
    imports[from][name] = /^__wbg_getRandomValues_/.test(name)
      ? (address = 0, length = 0) => {
          randomFillSync(new Uint8Array(exports.memory.buffer, address >>> 0, length))
        }
      : () => {
          throw new Error(`the engine called ${name}, which is not available to it`)
        }
  }
  const exports = new wasm.Instance(module, imports).exports as Exports
  return exports
}
