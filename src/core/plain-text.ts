/**
 * Which free text is taken: labels, ids and notes that people compare by eye. Every script and emoji are welcome. Refused is what
 * cannot be seen and lets one text pass for another, and what is not in Unicode normalization form C. Text is never changed: what is
 * stored is what was sent.
 */

/** Printable ASCII, which most text is. */
const PRINTABLE_ASCII = /^[ -~]*$/

/**
 * Control and format characters, line and paragraph separators, halves of surrogate pairs, and letters that are drawn as nothing, as
 * the Hangul fillers are. Emoji and some scripts need the zero width joiner and the variation selectors.
 */
const UNFIT = /(?![\u200d\p{Variation_Selector}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u
const UNFIT_BUT_LINE_FEED = new RegExp(`(?!\\n)${UNFIT.source}`, 'u')

/**
 * What is wrong with a text, as the rest of a sentence that begins with the name of its field; `null` when it is fit.
 *
 * @param lineFeeds whether it may have several lines
 */
export function unfitIn(text: string, { lineFeeds }: { readonly lineFeeds: boolean }): string | null {
  if (PRINTABLE_ASCII.test(text)) return null
  const found = (lineFeeds ? UNFIT_BUT_LINE_FEED : UNFIT).exec(text)
  if (found !== null) {
    const allowed = `Control characters${lineFeeds ? ' other than line feeds' : ', line breaks'} and invisible characters are refused`
    const place = `must not contain ${codePointOf(found[0])} (character ${placeOf(text, found.index)})`
    return `${place}. ${allowed}, except the zero width joiner and variation selectors`
  }
  const normal = text.normalize('NFC')
  if (normal === text) return null
  const index = firstDifference(text, normal)
  const difference = `differs from it at ${codePointOf(text.slice(index))} (character ${placeOf(text, index)})`
  return `must be in Unicode normalization form C (NFC), and ${difference}: normalize it before you send it`
}

function codePointOf(text: string): string {
  return `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Which character stands at an index of code units, from 1. */
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
