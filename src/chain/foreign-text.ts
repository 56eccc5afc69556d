/**
 * The only entry point of third-party text: what contracts return as metadata or revert reasons, and what nodes answer.
 * The result is Unicode of bounded length without unpaired surrogates, NUL, control and invisible characters: any
 * database, log and terminal can hold it.
 */

/** UTF-16 code units examined for each character kept: a contract may return megabytes. */
const UNITS_PER_CHARACTER = 8

/**
 * @param maxCharacters code points; longer text is truncated between two of them
 * @returns the text in Unicode normalization form C, on one line, trimmed
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
