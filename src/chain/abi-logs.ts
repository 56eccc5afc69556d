/** Decodes logs of contracts by the events of an ABI. */
import { type DecodedValue, decodeTopic, decodeValues } from './abi-decode.ts'
import type { AbiFragment } from './abi-fragment.ts'

export type ReceiptLog = { readonly address: string; readonly topics: readonly string[]; readonly data: string }

export type DecodedLog = { readonly name: string; readonly signature: string; readonly args: readonly DecodedValue[] }

/** @returns `null` if no event has its first topic and as many indexed parameters as it has further topics */
export function decodeLog({ topics, data }: ReceiptLog, events: readonly AbiFragment[]): DecodedLog | null {
  const [first, ...indexed] = topics
  const event = events.find(
    ({ hash, inputs }) => hash === first && inputs.filter(({ isIndexed }) => isIndexed).length === indexed.length,
  )
  if (event === undefined) return null
  const stated = decodeValues(
    event.inputs.filter(({ isIndexed }) => !isIndexed),
    data,
  )
  if (stated === null) return null
  let topic = 0
  let value = 0
  const args = event.inputs.map((param) => {
    const arg = param.isIndexed ? decodeTopic(param, indexed[topic++] ?? '0x') : stated[value++]
    return arg ?? { name: param.name, type: param.type, value: null, note: 'undecodable' as const }
  })
  return { name: event.name, signature: event.signature, args }
}
