/** The lines of an exported file, read piece by piece: no line is in memory before its length is known to be allowed. */
import { BadExport } from './export-format.ts'

/**
 * The largest line of an export. An event has at most 32 MB (`append_commits`), and the database prints it with spaces
 * that are not counted there.
 */
export const MAX_LINE_BYTES = 80_000_000

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Lines without their line feeds, and without a carriage return before them. Only line feeds end a line.
 *
 * @throws BadExport with the number of a line that is too long or is not UTF-8
 */
export async function* linesOfExport(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let number = 1
  let parts: Uint8Array[] = []
  let bytes = 0
  const take = (part: Uint8Array) => {
    bytes += part.length
    if (bytes > MAX_LINE_BYTES)
      throw new BadExport(`Line ${number} is longer than ${MAX_LINE_BYTES} bytes: the file is not an export.`)
    parts.push(part)
  }
  const line = (): string => {
    const whole = Buffer.concat(parts)
    parts = []
    bytes = 0
    try {
      return decoder.decode(whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole)
    } catch {
      throw new BadExport(`Line ${number} is not UTF-8: the file is damaged or is not an export.`)
    }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, end))
      yield line()
      number += 1
      from = end + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
  if (bytes > 0) yield line()
}
