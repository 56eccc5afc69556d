/** @param words of the code, never of a request. @returns `('a', 'b')`, the right side of an `IN` of SQL */
export function sqlList(words: readonly string[]): string {
  return `(${words.map((word) => `'${word}'`).join(', ')})`
}
