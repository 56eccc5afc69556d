/**
 * Lists, newest first, with keyset pagination: a cursor names the last row shown, so pages neither skip nor repeat rows
 * while new ones arrive. It is opaque, versioned, bound to its list, and refused when it was altered.
 */
import { createHash } from 'node:crypto'
import { type TSchema, type TUnsafe, Type } from '@sinclair/typebox'
import { ValidationFailed } from '../core/errors.ts'
import { nullable } from './schemas.ts'
import type { View } from './view.ts'

const VERSION = '1'
const CHECKSUM_LENGTH = 8

/** The query parameters of every list; a route adds its filters: `closedObject({ ...pageQuery, network: … })`. */
export const pageQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of items to return, from 1 to 100.',
  }),
  cursor: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'The `next_cursor` of the previous page. Omit it to get the first page.',
    }),
  ),
}

/** The values of the order columns of a row: text, so that no precision is lost. */
export type RowKey = readonly string[]

/** The schema of `pageOf`'s result; the application adds `as_of_event` (`addAsOfEvent`). @param plural the member that holds the rows: `wallets` */
export function pageSchema<Plural extends string, Row extends TSchema>(
  plural: Plural,
  row: Row,
): TUnsafe<Page<Plural, View<Row>>> {
  return Type.Unsafe(
    Type.Object({
      [plural]: Type.Array(row, { description: 'The items of this page, newest first.' }),
      next_cursor: nullable(
        Type.String({
          description: 'Pass it as `cursor` to get the next page. Null on the last page.',
          examples: [null],
        }),
      ),
      has_more: Type.Boolean({ description: 'Whether there is another page.', examples: [false] }),
      as_of_event: nullable(
        Type.String({
          description:
            'Pass that of the first page as `after` to `GET /v1/events` to get every change that the list does not show. Null if you ' +
            'have no events, and with `at`: omit `after` then.',
          examples: ['evt_wallet-wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11.2'],
        }),
      ),
    }),
  )
}

export type Page<Plural extends string, Row> = Readonly<Record<Plural, readonly Row[]>> & {
  readonly next_cursor: string | null
  readonly has_more: boolean
}

/**
 * One page.
 *
 * @param found rows in list order; one more than `limit` if there is a next page
 * @param keyOf the order columns of a row
 */
export function pageOf<const Plural extends string, Found, Row>(
  plural: Plural,
  {
    found,
    limit,
    keyOf,
    present,
  }: {
    readonly found: readonly Found[]
    readonly limit: number
    readonly keyOf: (row: Found) => RowKey
    readonly present: (row: Found) => Row
  },
): Page<Plural, Row> {
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return pageThatEnds(plural, shown.map(present), found.length > limit && last !== undefined ? keyOf(last) : null)
}

/** One page whose reader knows where the next one starts. @param after null on the last page */
export function pageThatEnds<const Plural extends string, Row>(
  plural: Plural,
  rows: readonly Row[],
  after: RowKey | null,
): Page<Plural, Row> {
  return {
    [plural]: rows,
    next_cursor: after === null ? null : encodeCursor(plural, after),
    has_more: after !== null,
  } as Page<Plural, Row>
}

/** @param list the list of the cursor: a cursor of another list is refused */
export function encodeCursor(list: string, key: RowKey): string {
  const content = JSON.stringify(key)
  return Buffer.from(`${VERSION}${checksum(list, content)}${content}`).toString('base64url')
}

/**
 * The key of the last row shown.
 *
 * @param columns the number of columns that order the list
 * @throws ValidationFailed `invalid_cursor`
 */
export function decodeCursor(list: string, columns: number, cursor: string): RowKey {
  const decoded = Buffer.from(cursor, 'base64url').toString('utf8')
  const content = decoded.slice(VERSION.length + CHECKSUM_LENGTH)
  const intact = decoded === `${VERSION}${checksum(list, content)}${content}` && isCanonical(cursor)
  const key = intact ? parseKey(content) : []
  if (key.length !== columns) {
    const rule =
      'cursor must be the unchanged next_cursor of a page of this list: omit it to start with the newest items.'
    throw ValidationFailed.field('cursor', 'invalid_cursor', rule)
  }
  return key
}

/** Anybody can compute the checksum, so the key is validated like the rest of a request. */
function parseKey(content: string): RowKey {
  try {
    const key: unknown = JSON.parse(content)
    const isKey = Array.isArray(key) && key.every((part) => typeof part === 'string' && !part.includes('\0'))
    return isKey ? (key as RowKey) : []
  } catch {
    return [] // Not JSON, so not a valid cursor: the caller refuses it.
  }
}

/** Base64 decoding ignores unknown characters; a cursor altered in this way is refused too. */
function isCanonical(cursor: string): boolean {
  return Buffer.from(cursor, 'base64url').toString('base64url') === cursor
}

/** Detects mistakes and cursors of other lists; it is no access control: that is the caller's key. */
function checksum(list: string, content: string): string {
  return createHash('sha256').update(`${list}\n${content}`).digest('base64url').slice(0, CHECKSUM_LENGTH)
}
