/**
 * Finds a duplicate member name in a JSON text (RFC 8259 § 4). JSON.parse keeps the last of two members, other programs
 * the first, so the same text would mean different things to different readers.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const LIST = 0x5b
const BACKSLASH = 0x5c
const END_OF_LIST = 0x5d
const OBJECT = 0x7b
const END_OF_OBJECT = 0x7d

/**
 * One pass, without recursion.
 *
 * @param json a text that JSON.parse has accepted
 * @returns the name, unescaped; `null` when no object has a duplicate
 */
export function duplicateMember(json: string): string | null {
  const around: (Set<string> | null)[] = []
  /** The names of the current object; `null` in an array. */
  let names: Set<string> | null = null
  let isName = false
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfString(json, at)
      if (isName && names !== null) {
        const name = unescaped(json.slice(at, end + 1))
        if (names.has(name)) return name
        names.add(name)
        isName = false
      }
      at = end
    } else if (code === COMMA) {
      isName = names !== null
    } else if (code === OBJECT || code === LIST) {
      around.push(names)
      isName = code === OBJECT
      names = isName ? new Set() : null
    } else if (code === END_OF_OBJECT || code === END_OF_LIST) {
      names = around.pop() ?? null
    }
  }
  return null
}

/** The index of the quotation mark that ends the string starting at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    if (end === -1) return json.length
    let first = end
    while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1
    // An even number of backslashes escape each other; with an odd number the last one escapes the quotation mark.
    if ((end - first) % 2 === 0) return end
  }
}

function unescaped(text: string): string {
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}
