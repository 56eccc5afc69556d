/** What a call does, for its caller and for the log. */
import { decodeValues } from '../chain/abi-decode.ts'
import { spendsOf } from '../chain/spends.ts'
import type { CallRecord } from '../transactions/intent.ts'
import type { DescribedCall } from './read-call.ts'

/** Limit for the arguments, the events and the errors in the log each, bytes of JSON. */
const MAX_RECORDED = 16_384
/** Events, and errors. Decoding parses them each time. */
const MAX_FRAGMENTS = 64

/**
 * Arguments are `null` for call data without a function, and if they are too large to record.
 *
 * @param wallet its address
 */
export function describeCall({ to, data, called, events, errors }: DescribedCall, wallet: string): CallRecord {
  const args = called === null ? null : decodeValues(called.inputs, `0x${data.slice(10)}`)
  return {
    function: called?.name ?? null,
    signature: called?.signature ?? null,
    selector: data.length < 10 ? null : data.slice(0, 10),
    args: args === null || sizeOf(args) > MAX_RECORDED ? null : args,
    events: withinLimit(events.map(({ text }) => text)),
    errors: withinLimit(errors.map(({ text }) => text)),
    spends: spendsOf({ to, data }, wallet),
  }
}

/** The first fragments that fit. */
function withinLimit(texts: readonly string[]): readonly string[] {
  let left = MAX_RECORDED
  return texts.slice(0, MAX_FRAGMENTS).filter((text) => {
    left -= Buffer.byteLength(text)
    return left >= 0
  })
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
