/** What the follower records balances with: `compose/chain-follower.ts` makes it once. Types alone. */
import type { Context } from '../context.ts'
import type { BalanceChainOf } from './chain.ts'
import type { LoadBalances } from './load-balances.ts'
import type { ReadForRecord } from './read-holdings.ts'
import type { UnreadTokens } from './unread-tokens.ts'

export type BalanceContext = Pick<Context, 'pool' | 'log'> & {
  readonly load: LoadBalances
  readonly chainOf: BalanceChainOf
  readonly readForRecord: ReadForRecord
  readonly unread: UnreadTokens
}
