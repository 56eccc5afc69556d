/**
 * The Swap API v2 of 0x, in its AllowanceHolder flow (https://docs.0x.org/api-reference). The key goes into a header
 * and nowhere else: it is in no message and in no log.
 */
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { toChecksumAddress } from '../chain/address.ts'
import { readBounded } from '../core/bounded-body.ts'
import type { NoOffer, QuoteSource, SourceAnswer, SourceOffer, SourceQuestion } from './quote-source.ts'

/** The native currency in the API. */
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const TIMEOUT_MS = 2_000
const MAX_ANSWER_BYTES = 256 * 1_024
const MAX_DATA_BYTES = 32 * 1_024

const address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
/** A uint256 has at most 78 digits. */
const amount = Type.String({ pattern: '^[0-9]{1,78}$' })

const NO_LIQUIDITY = Type.Object({ liquidityAvailable: Type.Literal(false) })
const ANSWER = Type.Object({
  liquidityAvailable: Type.Literal(true),
  sellAmount: amount,
  buyAmount: amount,
  minBuyAmount: amount,
  allowanceTarget: Type.Optional(Type.Union([address, Type.Null()])),
  transaction: Type.Object({
    to: address,
    data: Type.String({ pattern: '^0x([0-9a-fA-F]{2}){4,}$', maxLength: 2 + 2 * MAX_DATA_BYTES }),
    value: amount,
  }),
})

/** The parameters that say who calls. */
const ABOUT_TAKER: readonly string[] = ['taker', 'recipient', 'txOrigin']
const REFUSAL = Type.Object({
  name: Type.String(),
  data: Type.Optional(
    Type.Object({ details: Type.Optional(Type.Array(Type.Object({ field: Type.String() }), { maxItems: 100 })) }),
  ),
})

/** A value, because more aggregators can be a `QuoteSource`. */
export function createZeroX({ url, key }: { readonly url: string; readonly key: string }): QuoteSource {
  const target = `${url.replace(/\/+$/, '')}/swap/allowance-holder/quote?`
  const headers = { '0x-api-key': key, '0x-version': 'v2', accept: 'application/json' }
  return {
    name: '0x',
    async ask(question) {
      try {
        const signal = AbortSignal.timeout(TIMEOUT_MS)
        // An API does not redirect; the key must not be sent elsewhere.
        const response = await fetch(target + queryOf(question), { headers, signal, redirect: 'error' })
        const { text, cut } = await readBounded(response, MAX_ANSWER_BYTES)
        if (response.status !== 200) return none(refusalOf(response.status, text))
        return cut ? none('invalid_answer') : answerOf(text)
      } catch {
        return none('unavailable')
      }
    },
  }
}

/** A slippage of one less than ours: 0x may round its minimum down, and ours is rounded up. */
function queryOf({ chainId, sold, bought, amount: sellAmount, taker, wallet, slippageBps }: SourceQuestion): string {
  return new URLSearchParams({
    chainId: String(chainId),
    sellToken: sold ?? NATIVE,
    buyToken: bought ?? NATIVE,
    sellAmount: sellAmount.toString(),
    taker,
    recipient: wallet,
    // Required where the taker is a contract.
    txOrigin: wallet,
    slippageBps: String(Math.max(slippageBps - 1, 0)),
  }).toString()
}

/** Why there is no quote: 0x names an error, and for invalid input the fields. */
function refusalOf(status: number, text: string): NoOffer {
  if (status === 429) return 'rate_limited'
  const answer = parse(text)
  if (status >= 500 || !Value.Check(REFUSAL, answer)) return 'unavailable'
  const fields = answer.data?.details?.map(({ field }) => field) ?? []
  return /^TAKER_/.test(answer.name) || fields.some((field) => ABOUT_TAKER.includes(field))
    ? 'contract_refused'
    : 'unavailable'
}

function answerOf(text: string): SourceAnswer {
  const answer = parse(text)
  if (Value.Check(NO_LIQUIDITY, answer)) return none('no_liquidity')
  if (!Value.Check(ANSWER, answer)) return none('invalid_answer')
  const { transaction, allowanceTarget = null } = answer
  const offer: SourceOffer = {
    contract: toChecksumAddress(transaction.to),
    spender: allowanceTarget === null ? null : toChecksumAddress(allowanceTarget),
    data: transaction.data.toLowerCase(),
    value: BigInt(transaction.value),
    amountIn: BigInt(answer.sellAmount),
    amountOut: BigInt(answer.buyAmount),
    minimumOut: BigInt(answer.minBuyAmount),
  }
  return { offer }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function none(outcome: NoOffer): SourceAnswer {
  return { outcome }
}
