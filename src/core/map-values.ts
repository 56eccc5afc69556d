/** The record with the same keys and other values. */
export function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  map: (value: From) => To,
): Readonly<Record<Key, To>> {
  const entries = Object.entries(record) as [Key, From][]
  return Object.fromEntries(entries.map(([key, value]) => [key, map(value)])) as Record<Key, To>
}
