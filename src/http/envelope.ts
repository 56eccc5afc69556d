/** The two shapes of a response body: a success with its data, or an error with all its items. */
import { type TSchema, Type } from '@sinclair/typebox'
import type { ErrorItem } from '../core/errors.ts'

export type Success<Data> = { readonly status: 'success'; readonly data: Data }

export type ErrorBody = {
  readonly status: 'error'
  /** A summary of the items. */
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
 * @param summary the message for several items; with one item, its own message is used
 */
export function errorBody(items: readonly ErrorItem[], requestId: string, summary?: string): ErrorBody {
  const [first] = items
  const noun = items.every(({ field }) => field !== undefined) ? 'invalid fields' : 'errors'
  const several = summary ?? `The request has ${items.length} ${noun}.`
  return {
    status: 'error',
    message: items.length === 1 && first ? first.message : several,
    errors: items,
    request_id: requestId,
  }
}
