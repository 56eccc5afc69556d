/** What a later event of a stream sends of its row: an append of the whole row costs PostgreSQL several times as much. */

type Columns = Readonly<Record<string, unknown>>

/**
 * The key, the version that the row must have, and the columns that differ from it.
 *
 * @param before the row at version `version`
 */
export function changedColumns(key: string, before: Columns, version: number, after: Columns): Columns {
  const changed: Record<string, unknown> = { [key]: after[key], after_version: version }
  for (const column of Object.keys(after)) if (!isSame(before[column], after[column])) changed[column] = after[column]
  return changed
}

/** Objects are the same when they are one: a copy is sent again, which changes nothing. */
function isSame(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.length === other.length && one.every((item, index) => item === other[index])
}
