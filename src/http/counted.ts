/** Counts requests by their outcome. */
import { BursarError } from '../core/errors.ts'

/**
 * @param count called with the outcome of each call: what `outcomeOf` returns, or the code of the error, which is
 *   thrown on; of the first item where an error has several
 */
export function counted<Args extends readonly unknown[], Result>(
  act: (...args: Args) => Promise<Result>,
  count: (outcome: string) => void,
  outcomeOf: (result: Result) => string,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    try {
      const result = await act(...args)
      count(outcomeOf(result))
      return result
    } catch (error) {
      count(error instanceof BursarError ? (error.items[0]?.code ?? error.code) : 'internal_error')
      throw error
    }
  }
}

/** The outcome of an accepted request. */
export function acceptedOrRepeated({ replayed }: { readonly replayed: boolean }): string {
  return replayed ? 'repeated' : 'accepted'
}
