/** What parties tell each other about the shares that they hold. A party trusts none of it: every field is validated. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { fromJson, toJson } from './json-payload.ts'
import { Name } from './protocol.ts'

const Holds = Type.Object({ keyId: Name, generation: Name }, { additionalProperties: false })
const Claims = Type.Array(Name, { maxItems: 10_000 })

/** Asks another party whether the log names this generation to it, and whether it holds its share. */
export function encodeHolds(question: Static<typeof Holds>): Uint8Array {
  return toJson(question)
}

/** @returns undefined for anything but exactly such a question */
export function decodeHolds(payload: Uint8Array): Readonly<Static<typeof Holds>> | undefined {
  const plain = fromJson(payload)
  return Value.Check(Holds, plain) ? plain : undefined
}

export function encodeHeld(isHeld: boolean): Uint8Array {
  return toJson(isHeld)
}

/** @returns false for anything but a yes */
export function decodeHeld(payload: Uint8Array): boolean {
  return fromJson(payload) === true
}

/** Generations of shares with which a party can begin a refresh. */
export function encodeClaims(generations: readonly string[]): Uint8Array {
  return toJson(generations)
}

/** @returns undefined for anything but exactly such a list */
export function decodeClaims(payload: Uint8Array): readonly string[] | undefined {
  const plain = fromJson(payload)
  return Value.Check(Claims, plain) ? plain : undefined
}
