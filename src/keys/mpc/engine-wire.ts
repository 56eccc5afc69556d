/**
 * The encoding between the engine and its host: single bytes, 32-bit little-endian integers, length-prefixed byte
 * strings.
 */
import { BursarError } from '../../core/errors.ts'

/** Messages to or from each other party, by its number. */
export type Messages = ReadonlyMap<number, Uint8Array>

/**
 * `continue`: send these messages and call again with those of all others. `done`: send these; the session has a
 * result.
 */
export type Step =
  | { readonly kind: 'continue'; readonly session: number; readonly outgoing: Messages }
  | { readonly kind: 'done'; readonly outgoing: Messages; readonly result: Uint8Array }

/** A share in the engine's memory. */
export type LoadedShare = {
  readonly number: number
  /** The party that holds the share: 1 to `parties`. */
  readonly party: number
  readonly threshold: number
  readonly parties: number
  /** Compressed (SEC 1), 33 bytes. */
  readonly publicKey: Uint8Array
}

const FAILURES = { 2: 'invalid', 3: 'refused', 4: 'transcript_mismatch', 5: 'cheated' } as const
const DONE = 1

/**
 * Why a session has no result. `invalid`: a defect of this program. `refused`: a malformed message, nothing leaked.
 * `transcript_mismatch`: the parties did not see the same messages. `cheated`: `party` failed a check that protects the
 * secrecy of the shares, and must not take part again before they are refreshed (DKLs23, section 3.2).
 */
export class EngineFailure extends BursarError {
  override readonly type = 'internal_error'
  override readonly code: string
  readonly kind: (typeof FAILURES)[keyof typeof FAILURES]
  /** The sender of the offending message; null when it is unknown. */
  readonly party: number | null

  constructor(kind: EngineFailure['kind'], party: number | null, reason: string) {
    super(party === null ? reason : `party ${party}: ${reason}`)
    this.kind = kind
    this.party = party
    this.code = `mpc_${kind}`
  }
}

/** Builds a request from its fields. */
export class RequestWriter {
  readonly #parts: Uint8Array[] = []
  #length = 0

  byte(value: number): this {
    return this.#add(Uint8Array.of(value))
  }

  number(value: number): this {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return this.#add(bytes)
  }

  bytes(value: Uint8Array): this {
    return this.number(value.length).#add(value)
  }

  messages(messages: Messages): this {
    this.number(messages.size)
    for (const [party, bytes] of messages) this.byte(party).bytes(bytes)
    return this
  }

  /** All fields in a new buffer. */
  finish(): Uint8Array {
    const request = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      request.set(part, at)
      at += part.length
    }
    return request
  }

  #add(bytes: Uint8Array): this {
    this.#parts.push(bytes)
    this.#length += bytes.length
    return this
  }
}

/** Reads the fields of an engine answer in order. */
export type EngineAnswer = {
  readonly step: () => Step
  readonly result: () => Uint8Array
  readonly share: () => LoadedShare
}

/** @throws EngineFailure when the engine returned a failure */
export function readAnswer(answer: Buffer): EngineAnswer {
  let at = 0
  const byte = () => answer.readUInt8(at++)
  const number = () => {
    at += 4
    return answer.readUInt32LE(at - 4)
  }
  const bytes = () => {
    const length = number()
    at += length
    return answer.subarray(at - length, at)
  }
  const messages = (): Messages =>
    new Map(Array.from({ length: number() }, (): [number, Uint8Array] => [byte(), bytes()]))

  const kind = byte()
  const failure = FAILURES[kind as keyof typeof FAILURES]
  if (failure !== undefined) throw new EngineFailure(failure, byte() || null, bytes().toString('utf8'))

  function step(): Step {
    if (kind !== DONE) return { kind: 'continue', session: number(), outgoing: messages() }
    const outgoing = messages()
    return { kind: 'done', outgoing, result: bytes() }
  }

  function result(): Uint8Array {
    const answered = step()
    if (answered.kind !== 'done') throw new TypeError('the engine returned a step instead of a result')
    return answered.result
  }

  return {
    step,
    result,
    share() {
      const fields = Buffer.from(result())
      const facts = fields.subarray(8)
      return {
        number: fields.readUInt32LE(0),
        party: facts.readUInt8(0),
        threshold: facts.readUInt8(1),
        parties: facts.readUInt8(2),
        publicKey: Uint8Array.from(facts.subarray(7)),
      }
    },
  }
}
