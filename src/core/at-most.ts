/** Options of an LRU cache that grows with its entries: `max` takes the memory of all of them at once. */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 }
}
