/**
 * Every error code of the API, with what a caller should do about it, as the folders that raise them declare it. The reference page
 * docs/errors.md and the enum of the API document are generated from it. A test compares it with the codes in the sources.
 */
import type { ErrorActions, ErrorType } from '../core/errors.ts'
import type { Catalogue } from '../core/registry.ts'
import { statusOf } from './error-status.ts'

/** For these types the same request can succeed later. */
const RETRYABLE: ReadonlySet<ErrorType> = new Set(['rate_limit_error', 'unavailable', 'internal_error'])

export type ErrorCode = {
  readonly code: string
  readonly type: ErrorType
  readonly status: number
  readonly retryable: boolean
  /** What the caller should do. */
  readonly action: string
}

/**
 * Those that are declared, and one for each quota.
 *
 * @returns sorted by code, then by type
 * @throws Error when a code is declared twice for one type
 */
export function errorCodes({ errors, quotas }: Pick<Catalogue, 'errors' | 'quotas'>): readonly ErrorCode[] {
  const ofQuotas: ErrorActions = {
    rate_limit_error: Object.fromEntries(
      Object.keys(quotas).map((quota) => [
        `quota_${quota}`,
        'Wait if there is a `Retry-After`, or ask the operator for a higher quota.',
      ]),
    ),
  }
  const codes = [ofQuotas, ...errors].flatMap((actions) =>
    (Object.keys(actions) as ErrorType[]).flatMap((type) =>
      Object.entries(actions[type] ?? {}).map(([code, action]) => {
        const status = statusOf({ type, code })
        return { code, type, status, retryable: RETRYABLE.has(type), action }
      }),
    ),
  )
  const sorted = codes.sort((a, b) => (a.code === b.code ? a.type.localeCompare(b.type) : a.code < b.code ? -1 : 1))
  const twice = sorted.find(
    ({ code, type }, index) => sorted[index + 1]?.code === code && sorted[index + 1]?.type === type,
  )
  if (twice !== undefined) throw new Error(`the error code ${twice.code} is declared twice for ${twice.type}`)
  return sorted
}
