/** The two shapes that every answer has: a success with its data, or an error with all that is wrong. */
import { type TSchema, Type } from '@sinclair/typebox'
import type { ErrorItem } from '../core/errors.ts'

export type Success<Data> = { readonly status: 'success'; readonly data: Data }

export type ErrorBody = {
  readonly status: 'error'
  /** A summary; the items say it field by field. */
  readonly message: string
  readonly errors: readonly ErrorItem[]
  readonly request_id: string
}

export function success<Data>(data: Data): Success<Data> {
  return { status: 'success', data }
}

/** The response schema of a success: `response: { 200: successOf(walletSchema, 'The wallet.') }`. */
export function successOf<Data extends TSchema>(data: Data, description: string) {
  return Type.Object({ status: Type.Literal('success'), data }, { description })
}

/**
 * @param items at least one
 * @param summary said of several items; one item speaks for itself
 */
export function errorBody(items: readonly ErrorItem[], requestId: string, summary?: string): ErrorBody {
  const [first] = items
  const several = summary ?? `${items.length} things are wrong with this request.`
  return {
    status: 'error',
    message: items.length === 1 && first ? first.message : several,
    errors: items,
    request_id: requestId,
  }
}
