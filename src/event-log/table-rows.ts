/**
 * The rows of all tables, as Prisma generates them from prisma/schema.prisma: a misspelt or missing column does not
 * compile. Types, and what an append sends of a row.
 */
import type { Environment, Network } from '../core/networks.ts'
import type { AppendedBeside, ReadModel } from '../core/registry.ts'
import type { Prisma } from '../generated/prisma/client.ts'

export type TableName = Prisma.ModelName

/** Tables of which an append writes whole rows. A migration calls `create_put_function` for each. */
export type AppendedTable = Exclude<ReadModel, 'idempotency_keys' | 'wallet_holds' | 'spend_buckets'> | AppendedBeside

type Generated<Table extends TableName> = Prisma.TypeMap['model'][Table]['payload']['scalars']

type ReadScalar<Value> = Value extends bigint | Prisma.Decimal ? string : Value extends Uint8Array ? Buffer : Value
type WrittenScalar<Value> = Value extends bigint
  ? number | string
  : Value extends Date | Prisma.Decimal
    ? string
    : Value extends readonly string[]
      ? readonly string[]
      : Value
/** Only the capability knows the content of a JSON column. */
type Read<Value> = Prisma.JsonValue extends Value ? unknown : ReadScalar<Value>
type Written<Value> = Prisma.JsonValue extends Value ? unknown : WrittenScalar<Value>

/** Columns that mean the same in every table. */
type Shared = {
  readonly network: Network
  readonly environment: Environment
  readonly failure: { readonly code: string; readonly message: string } | null
}

type Columns<Table extends TableName> = {
  readonly [Column in keyof Generated<Table>]: Column extends keyof Shared
    ? Shared[Column]
    : Read<Generated<Table>[Column]>
}

/** More precise types of some columns than in the schema: state names, the form of JSON. */
type KnownColumns<Table extends TableName, Known> = {
  readonly [Column in keyof Known]: Column extends keyof Columns<Table> ? Columns<Table>[Column] : never
}

/** A whole row as `pg` reads it: 64-bit numbers and amounts are decimal digits in strings. */
export type Row<Table extends TableName, Known extends KnownColumns<Table, Known> = Record<never, never>> = Omit<
  Columns<Table>,
  keyof Known
> &
  Known

/** Columns of an outer join: null where the other table has no row. */
export type OrNull<Columns> = { readonly [Column in keyof Columns]: Columns[Column] | null }

/** A whole row as `pg` reads it or as an append writes it. */
export type ReadOrWrittenRow<Table extends TableName, Known extends KnownColumns<Table, Known>> = {
  readonly [Column in Exclude<keyof Generated<Table>, keyof Known>]: Column extends keyof Shared
    ? Shared[Column]
    : Columns<Table>[Column] | WrittenRow<Table>[Column]
} & Known

/** A whole row as an append writes it: times are ISO 8601 and amounts are decimal digits in strings. */
export type WrittenRow<Table extends TableName> = {
  readonly [Column in keyof Generated<Table>]: Written<Generated<Table>[Column]>
}

type AnyRow = Readonly<Record<string, unknown>>

/**
 * What a later event of a stream sends of its row: the key, the version that the row must have, and the columns that differ
 * from it. An append of the whole row costs PostgreSQL several times as much.
 *
 * @param before the row at version `version`
 */
export function changedColumns(key: string, before: AnyRow, version: number, after: AnyRow): AnyRow {
  const changed: Record<string, unknown> = { [key]: after[key], after_version: version }
  for (const column of Object.keys(after)) if (!isSame(before[column], after[column])) changed[column] = after[column]
  return changed
}

/** Objects are the same when they are one: a copy is sent again, which changes nothing. */
function isSame(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.length === other.length && one.every((item, index) => item === other[index])
}
