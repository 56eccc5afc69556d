/** The record with the same keys and other values. */
export function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  map: (value: From) => To,
): Readonly<Record<Key, To>> {
  // A copy has each key as its own property, also `__proto__`: assigning to it reaches no prototype.
  const mapped: Record<Key, From | To> = { ...record }
  for (const key of Object.keys(record) as Key[]) mapped[key] = map(record[key])
  return mapped as Record<Key, To>
}
