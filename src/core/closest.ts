/** Finds the candidate that a misspelt word most likely means, for error messages. */

/** Longer words are not compared: they are not typing errors, and the cost is the product of the lengths. */
const LONGEST_COMPARED = 64

/**
 * The candidate that differs from `word` by the fewest edits, if they are few enough for a typing error. Upper case,
 * `_` and `-` do not count: `gasPriority` matches `gas_priority`.
 */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LONGEST_COMPARED) return undefined
  const wanted = fold(word)
  let best: string | undefined
  let fewest = Math.min(3, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    const folded = fold(candidate)
    // Words that differ in length by more than that differ by at least as many edits.
    if (Math.abs(folded.length - wanted.length) >= fewest) continue
    const edits = editDistance(wanted, folded)
    if (edits < fewest) {
      best = candidate
      fewest = edits
    }
  }
  return best
}

function fold(word: string): string {
  return word.toLowerCase().replace(/[_-]/g, '')
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1)
      current.push(edits)
    }
    beforeLast = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
