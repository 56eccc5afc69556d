/** The requested updates of a token: the fold of its events. */
import type { TokenEvent } from './token-events.ts'

export type TokenState = {
  /** The number of events. */
  readonly updates: number
  readonly newest: TokenEvent | null
  /** The newest transaction to freeze it. */
  readonly freezeId: string | null
}

export const UNTOUCHED: TokenState = { updates: 0, newest: null, freezeId: null }

export function evolve(before: TokenState, event: TokenEvent): TokenState {
  const freezeId = event.type === 'TokenFrozen' ? event.data.transactionId : before.freezeId
  return { updates: before.updates + 1, newest: event, freezeId }
}
