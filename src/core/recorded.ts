/** The recorded form of values: event data is JSON, so amounts are decimal digits in strings there. */
import { mapValues } from './map-values.ts'

/** A value as event data holds it: each bigint is a string of decimal digits. */
export type Recorded<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { [Key in keyof Value]: Recorded<Value[Key]> }
    : Value

/** Writes a value as event data. Keys keep their order. */
export function recorded<Value>(value: Value): Recorded<Value> {
  return written(value) as Recorded<Value>
}

function written(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map(written)
  return typeof value === 'object' && value !== null ? mapValues(value as Record<string, unknown>, written) : value
}
