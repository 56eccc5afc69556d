/**
 * What a contract call can do, by its data: transfers and allowances of known functions, also inside of multicalls, the value that
 * goes along, and what a rehearsal showed that it takes. What else a function does is not known, so whoever gets it may be
 * anybody. Pure.
 */
import { moveOf, type TokenMove } from '../chain/moves.ts'
import { callsOf, type MadeCall } from '../chain/spends.ts'
import { nativeAsset } from '../core/assets.ts'
import { largest } from '../core/money.ts'
import type { Action } from '../core/policy.ts'
import { type Spend, UNLIMITED } from '../core/spends.ts'
import type { Intent as OpeningIntent } from '../transactions/intent.ts'
import { type Facts, movedOf, tokenMoved } from './facts.ts'
import { ANY, ANYTHING, type Intent, intentOf, keyOf, unclear } from './intent.ts'

/** A call with more of them is judged as one that cannot be understood. */
const MAX_INTENTS = 64
const SELECTOR_DIGITS = 8

type Calling = Pick<
  OpeningIntent,
  'chainId' | 'network' | 'from' | 'to' | 'data' | 'asset' | 'amount' | 'outflows' | 'isUnrehearsed'
>
type Context = Pick<Calling, 'chainId' | 'network' | 'isUnrehearsed'> & {
  readonly actions: readonly Action[]
  readonly facts: Facts
}

/** @param actions what the request is called */
export function callIntents(calling: Calling, actions: readonly Action[], facts: Facts): readonly Intent[] {
  const { chainId, network, from, to, data, asset, amount, isUnrehearsed = false } = calling
  const context: Context = { chainId, network, isUnrehearsed, actions, facts }
  const value = asset.contract === null ? amount : 0n
  const { calls, isCut } = callsOf({ to, data: data ?? '0x', value }, from)
  const intents = calls.flatMap((call) => intentsOfCall(call, context))
  if (isCut || intents.length > MAX_INTENTS) return [...intents.slice(0, MAX_INTENTS), unclear(actions)]
  // A contract that is called without data and value runs, and its gas is paid.
  if (intents.length === 0) return [unclear(actions, { contract: to.toLowerCase() })]
  return [...intents, ...taken(calling, intents, context)]
}

function intentsOfCall(call: MadeCall, context: Context): readonly Intent[] {
  const { target: contract, selector, args, spends, value } = call
  const { actions, chainId, network, facts, isUnrehearsed } = context
  const paid = value === 0n ? null : movedOf(chainId, nativeAsset(network, chainId), value, facts)
  const toContract = { recipient: contract, isToOwnWallet: facts.isOwn(contract) }
  if (selector.length === 0)
    return paid === null ? [] : [intentOf({ actions: [...actions, 'transfer'], ...toContract, contract, moves: paid })]
  if (selector.length < SELECTOR_DIGITS) return [unclear(actions, { contract })]
  const called = { actions, contract, method: `0x${selector}` }
  const payment = paid === null ? [] : [intentOf({ ...called, ...toContract, moves: paid })]
  if (spends.length > 0) return [...payment, ...spends.map((spend) => spendIntent(spend, called, context))]
  const move = moveOf({ selector, args })
  if (move !== null) return [...payment, moveIntent(move, called, context)]
  if (call.isMulticall) return payment.length > 0 ? payment : [intentOf(called)]
  // What others can make fail in the rehearsal, and succeed in a block, can take anything that the wallet has allowed others.
  return [intentOf({ ...called, recipient: ANY, moves: isUnrehearsed ? ANYTHING : paid })]
}

type Called = { readonly actions: readonly Action[]; readonly contract: string; readonly method: string }

/** Whoever may spend can send it to anybody. An allowance of nothing moves nothing; but `approve` of an NFT may name the token 0. */
function spendIntent({ kind, token, spender, amount }: Spend, called: Called, { chainId, facts }: Context): Intent {
  if (token === null || spender === null) return unclear(called.actions)
  const contract = token.toLowerCase()
  const actions: readonly Action[] = [...called.actions, 'approve']
  const isOfNft = kind === 'approve' && facts.isCollection(chainId, contract)
  const isKnown = facts.tokenOf(chainId, contract) !== null
  const isRevoked = amount === '0' && (kind !== 'approve' || isKnown)
  if (isRevoked) return intentOf({ ...called, actions })
  const most = isOfNft ? 1n : amount === UNLIMITED ? ANY : amountOrOne(BigInt(amount), isKnown)
  const moves = tokenMoved(chainId, contract, most, facts)
  return intentOf({ ...called, actions, spender: spender.toLowerCase(), recipient: ANY, moves })
}

/** Of a contract that is no known token, 0 may be the id of an NFT. */
function amountOrOne(amount: bigint, isKnown: boolean): bigint {
  return amount === 0n && !isKnown ? 1n : amount
}

function moveIntent({ standard, to, amount }: TokenMove, called: Called, { chainId, facts }: Context): Intent {
  const isAny = standard === 'any'
  const isKnown = facts.tokenOf(chainId, called.contract) !== null
  const isToken = standard === 'erc20' || (isAny && isKnown)
  const isNft = !isToken && (!isAny || facts.isCollection(chainId, called.contract))
  const moving: readonly Action[] = isToken ? ['transfer'] : isNft ? ['nft_transfer'] : ['transfer', 'nft_transfer']
  const most = isNft && isAny ? 1n : amount === null ? ANY : amountOrOne(amount, isKnown)
  return intentOf({
    ...called,
    actions: [...new Set<Action>([...called.actions, ...moving])],
    recipient: to,
    isToOwnWallet: facts.isOwn(to),
    moves: tokenMoved(chainId, called.contract, most, facts),
  })
}

/** What a rehearsal showed beyond what the data says; of the native currency, it is always beside the value of the call. */
function taken(
  { chainId, to, data, outflows = [] }: Calling,
  intents: readonly Intent[],
  { actions, facts }: Context,
): readonly Intent[] {
  return outflows.flatMap(({ asset, amount }) => {
    const key = keyOf(chainId, asset.contract)
    const isTold = ({ moves, spender }: Intent) => moves?.key === key && spender === null && asset.contract !== null
    const told = intents
      .filter(isTold)
      .reduce((sum, { moves }) => sum + (moves?.amount === ANY ? 0n : (moves?.amount ?? 0n)), 0n)
    const rest = largest(amount - told, 0n)
    if (rest === 0n) return []
    const method = data === null ? null : data.slice(0, 10).toLowerCase()
    return [
      intentOf({
        actions,
        contract: to.toLowerCase(),
        method,
        recipient: ANY,
        moves: movedOf(chainId, asset, rest, facts),
      }),
    ]
  })
}
