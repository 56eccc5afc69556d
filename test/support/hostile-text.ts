/** Text that would control a terminal: every C0 and C1 character, bidirectional and other invisible marks. */

const characters = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index)).join('')

const MARKS = '\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff'
const CONTROL = `${characters(0, 0x1f)}${characters(0x7f, 0x9f)}`

const LONG = 'x'.repeat(10_000)

/** With a line that is not of this program, and longer than any field is printed. */
export const HOSTILE = `\u001b[2J\u001b]0;owned\u0007\u009b31m${CONTROL}${MARKS}\nforged line\n${LONG}`

const UNPRINTABLE = new Set(`${CONTROL.replace('\n', '')}${MARKS}`)

/** The first character that a terminal must not get, as its code point; `null` when there is none. Line feeds are allowed. */
export function unprintableIn(text: string): string | null {
  const found = [...text].find((character) => UNPRINTABLE.has(character))
  return found === undefined ? null : `U+${found.charCodeAt(0).toString(16)} at ${text.indexOf(found)}`
}

/** Whether a text shows a whole field of `HOSTILE`, or a line that it forged. */
export function isForgedOrLong(text: string): boolean {
  return text.includes('x'.repeat(5_000)) || text.split('\n').some((line) => line.startsWith('forged line'))
}
