/** What a transaction waits for: another one that must have succeeded in a block before this one is signed. */
import { isUnmined, type TransactionState } from './state.ts'

export type DependencyOutcome =
  | { readonly outcome: 'open' }
  | { readonly outcome: 'succeeded'; readonly blockNumber: number }
  | { readonly outcome: 'failed'; readonly message: string }

/**
 * What became of a dependency. A failed execution counts only once it is final, since another block may hold it anew. That
 * a reorg takes back the block of a success changes nothing for what was signed after it: in its lane the order of
 * nonces puts the dependency first again.
 */
export function outcomeOf(id: string, dependency: TransactionState): DependencyOutcome {
  if (dependency.state === 'unknown') return failed(`It waits for ${id}, and there is no such transaction.`)
  const { state, inclusion, failure } = dependency
  if (isUnmined(dependency)) return { outcome: 'open' }
  if (state === 'mined' || state === 'confirmed') {
    return inclusion?.succeeded ? { outcome: 'succeeded', blockNumber: inclusion.blockNumber } : { outcome: 'open' }
  }
  // Of a chain of them each names the one before it: the reason stands once.
  const why = failure === null || failure.code === 'dependency_failed' ? '.' : `: ${failure.message}`
  return failed(`It waited for ${id}, which ended as ${state}${why}`)
}

function failed(message: string): DependencyOutcome {
  return { outcome: 'failed', message }
}
