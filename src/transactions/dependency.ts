/** The dependency of a transaction: another one that must have succeeded in a block before this one is signed. */
import { hasWorked, isUnmined, type TransactionState } from './state.ts'

export type DependencyOutcome =
  | { readonly outcome: 'open' }
  | { readonly outcome: 'succeeded'; readonly blockNumber: number }
  | { readonly outcome: 'failed'; readonly message: string }

/**
 * The outcome of a dependency. A failed execution, and a cancellation, count only once they are settled, since another block
 * may change them. A reorg of a successful one changes nothing for what was signed after it: the order of nonces in its lane puts the
 * dependency first again.
 */
export function outcomeOf(id: string, dependency: TransactionState): DependencyOutcome {
  if (dependency.state === 'unknown') return failed(`It depends on ${id}, but this transaction does not exist.`)
  const { state, inclusion, failure } = dependency
  if (isUnmined(dependency) || state === 'cancelling') return { outcome: 'open' }
  if (state === 'mined' || state === 'confirmed') {
    return inclusion !== null && hasWorked(inclusion)
      ? { outcome: 'succeeded', blockNumber: inclusion.blockNumber }
      : { outcome: 'open' }
  }
  // In a chain of dependencies each names the one before it; the reason is only shown once.
  const why = failure === null || failure.code === 'dependency_failed' ? '.' : `: ${failure.message}`
  return failed(`It depends on ${id}, which ended as ${state}${why}`)
}

function failed(message: string): DependencyOutcome {
  return { outcome: 'failed', message }
}
