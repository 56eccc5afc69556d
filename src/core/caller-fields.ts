/**
 * What a caller writes on a transaction: its own reference, a note, and until when it may be signed. Recorded with the request and
 * shown again; another field is one line in each record here, its schemas in `transactions/caller-schemas.ts`, and a column.
 */
import { toIso } from './instants.ts'

export type CallerFields = {
  readonly referenceId: string | null
  readonly memo: string | null
  /** ISO 8601 UTC with milliseconds: it is not signed after that. */
  readonly validUntil: string | null
}

export const NO_CALLER_FIELDS: CallerFields = { referenceId: null, memo: null, validUntil: null }

/** Names of the fields in requests and answers, and of their columns. */
export const CALLER_COLUMNS = ['reference_id', 'memo', 'valid_until'] as const
type Column = (typeof CALLER_COLUMNS)[number]

/** As a request has them: missing is null. */
export function callerFieldsOf(body: { readonly [Name in Column]?: string | undefined }): CallerFields {
  const { reference_id: referenceId = null, memo = null, valid_until: until } = body
  return { referenceId, memo, validUntil: until === undefined ? null : new Date(until).toISOString() }
}

/** Those of an intent, without the rest of it. */
export function pickCallerFields({ referenceId, memo, validUntil }: CallerFields): CallerFields {
  return { referenceId, memo, validUntil }
}

/** As rows have them. */
export function callerColumns({ referenceId, memo, validUntil }: CallerFields) {
  return { reference_id: referenceId, memo, valid_until: validUntil }
}

/** As answers have them. */
export function callerViews(row: {
  readonly reference_id: string | null
  readonly memo: string | null
  readonly valid_until: string | Date | null
}) {
  const { reference_id, memo, valid_until: until } = row
  return { reference_id, memo, valid_until: until === null ? null : toIso(until) }
}

/** For people, by name. */
export function namedCallerFields({ referenceId, memo, validUntil }: CallerFields): [string, string | null][] {
  return [
    ['reference', referenceId],
    ['memo', memo],
    ['valid until', validUntil],
  ]
}
