/**
 * One text for one value: RFC 8785 (JCS) for the values that events hold (strings, integers, booleans, null, arrays,
 * objects), so that a hash of it is the same before and after storage as `jsonb`.
 */
import { writeDigits } from './recorded.ts'

/** Text that JSON writes as it is: most keys and values of events. */
const PLAIN = /^[ !#-[\]-~]*$/
/** Up to here a sort by insertion is faster than `sort`, which allocates a third as much as the text itself. */
const FEW_KEYS = 32

/** @throws TypeError for values that JSON cannot hold exactly: a fraction, an unsafe integer, a bigint, a function */
export function canonicalJson(value: unknown): string {
  return written(value, refuseAmount)
}

/** As `canonicalJson`, of event data: an amount becomes a string of its digits. @throws TypeError also for one below 0 */
export function canonicalData(value: unknown): string {
  return written(value, amountText)
}

function refuseAmount(): never {
  throw new TypeError('not a JSON value: bigint')
}

function amountText(amount: bigint): string {
  return `"${writeDigits(amount)}"`
}

function written(value: unknown, ofAmount: (amount: bigint) => string): string {
  if (typeof value === 'string') return jsonString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value))
      throw new TypeError(`numbers in events must be whole; amounts must be strings: ${value}`)
    return JSON.stringify(value)
  }
  if (typeof value === 'bigint') return ofAmount(value)
  if (Array.isArray(value)) return `[${value.map((item) => written(item, ofAmount)).join(',')}]`
  if (typeof value !== 'object') throw new TypeError(`not a JSON value: ${typeof value}`)
  let members = ''
  for (const key of sorted(Object.keys(value))) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) members += `${members === '' ? '' : ','}${jsonString(key)}:${written(member, ofAmount)}`
  }
  return `{${members}}`
}

/** As `JSON.stringify`, which takes three times as long for plain text. */
function jsonString(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Sorts in place, by UTF-16 code units. */
function sorted(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort()
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string
    let place = index
    for (; place > 0 && (keys[place - 1] as string) > key; place -= 1) keys[place] = keys[place - 1] as string
    keys[place] = key
  }
  return keys
}
