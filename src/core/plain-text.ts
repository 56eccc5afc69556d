/**
 * Rules for free text that people compare by eye: labels, ids and notes. Every script and emoji are allowed. Invisible
 * characters, with which one text could pass for another, and text that is not in Unicode normalization form C are
 * refused. Text is stored as it was sent.
 */

/** Printable ASCII, the most common case. */
const PRINTABLE_ASCII = /^[ -~]*$/

/**
 * Control and format characters, line and paragraph separators, unpaired surrogates, and letters without a glyph, such
 * as the Hangul fillers. The zero width joiner and the variation selectors are allowed: emoji and some scripts need
 * them.
 */
export const UNFIT_FOR_DISPLAY =
  /(?![\u200d\p{Variation_Selector}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u
const UNFIT_BUT_LINE_FEED = new RegExp(`(?!\\n)${UNFIT_FOR_DISPLAY.source}`, 'u')

/**
 * What is wrong with a text, completing a sentence that starts with the field's name; `null` when it is valid.
 *
 * @param lineFeeds whether several lines are allowed
 */
export function unfitIn(text: string, { lineFeeds }: { readonly lineFeeds: boolean }): string | null {
  if (PRINTABLE_ASCII.test(text)) return null
  const found = (lineFeeds ? UNFIT_BUT_LINE_FEED : UNFIT_FOR_DISPLAY).exec(text)
  if (found !== null) {
    const allowed = `Control characters${lineFeeds ? ' other than line feeds' : ', line breaks'} and invisible characters are not allowed`
    const place = `must not contain ${codePointOf(found[0])} (character ${placeOf(text, found.index)})`
    return `${place}. ${allowed}, except the zero width joiner and variation selectors`
  }
  const normal = text.normalize('NFC')
  if (normal === text) return null
  const index = firstDifference(text, normal)
  const difference = `differs from it at ${codePointOf(text.slice(index))} (character ${placeOf(text, index)})`
  return `must be in Unicode normalization form C (NFC), and ${difference}: normalize it before you send it`
}

/** The rule for ids that a caller chooses: two that look alike would be two resources. `null` when it is kept. */
export function paddingOf(text: string): string | null {
  const found = /^\s|\s$/u.exec(text)
  if (found === null) return null
  const place = `has ${codePointOf(found[0])} (character ${placeOf(text, found.index)}) there`
  return `must not begin or end with a space, and ${place}: remove it before you send it`
}

function codePointOf(text: string): string {
  return `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** The number of the character at an index of UTF-16 code units, counted from 1. */
function placeOf(text: string, index: number): number {
  return [...text.slice(0, index)].length + 1
}

function firstDifference(text: string, other: string): number {
  let index = 0
  for (const character of text) {
    if (!other.startsWith(character, index)) return index
    index += character.length
  }
  return index
}
