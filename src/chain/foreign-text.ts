/**
 * The one place where text of strangers enters: what contracts say of themselves or when they revert, and what nodes answer.
 * What comes out is Unicode without surrogate halves, NUL, controls and invisible characters, of bounded length: every
 * database, log and terminal can hold it.
 */

/** So many UTF-16 units are looked at for one character that is kept: a contract may return megabytes. */
const UNITS_PER_CHARACTER = 8

/**
 * @param maxCharacters code points; longer text is cut between two of them
 * @returns the text in Unicode normalization form C, on one line, without spaces at its ends
 */
export function foreignText(text: string, maxCharacters: number): string {
  const clean = text
    .slice(0, maxCharacters * UNITS_PER_CHARACTER)
    .normalize('NFC')
    .replace(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/gu, '')
    .trim()
  return clean.length <= maxCharacters ? clean : [...clean].slice(0, maxCharacters).join('')
}
