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

/** One record of all. @throws Error when two of them have the same key: one would replace the other */
export function merged<T>(
  parts: readonly (Readonly<Record<string, T | undefined>> | undefined)[],
): Readonly<Record<string, T>> {
  const entries = parts.flatMap((part = {}) => Object.entries(part))
  const all = Object.fromEntries(entries)
  if (Object.keys(all).length < entries.length)
    throw new Error(`the same name is declared twice: ${entries.map(([name]) => name).join(', ')}`)
  return all as Readonly<Record<string, T>>
}
