/**
 * The part of a file that a script writes: everything between two lines that mark it.
 *
 * @param {string} text of the file
 * @param {{ readonly begin: string, readonly end: string }} marks
 * @param {string} part
 * @returns {string} the file with the part between its marks
 * @throws {Error} for a file without the marks
 */
export function withPart(text, { begin, end }, part) {
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined)
    throw new Error(`A file has no markers for what a script writes: ${begin} … ${end}`)
  return `${before}${begin}${part}${end}${after}`
}
