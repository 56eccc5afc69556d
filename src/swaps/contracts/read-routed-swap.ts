/**
 * Reads the call data of a swap by a router. What it reads is only what the data says: whoever relies on it encodes the
 * same swap again and compares the bytes, so that nothing else can be in them.
 */
import { encodeRouter02Swap, encodeV2Swap, ROUTER02, type RouterLeg, type RouterSwap, V2_ROUTER } from './router.ts'

/** Longer than that of any route, and short enough to be read at once. */
const MAX_DATA = 2 + 2 * 16_384

export type RoutedSwap = { readonly deadline: number; readonly legs: readonly RouterLeg[] }

type Known = Pick<RouterSwap, 'router' | 'exactOutput' | 'native' | 'wallet'> & { readonly kind: RouterLeg['kind'] }

/**
 * The legs and the deadline of a swap that this data makes for the wallet, which alone receives what is bought. `null`
 * when it does anything else, or something besides.
 */
export function readRoutedSwap(known: Known, data: string, value: bigint): RoutedSwap | null {
  if (data.length > MAX_DATA) return null
  try {
    const read = known.kind === 'v3' ? readRouter02(data, known.exactOutput) : readV2(data, value, known)
    const again = encodeAgain(known, read)
    return again.data === data.toLowerCase() && again.value === value ? read : null
  } catch {
    // Neither ethers nor the encoder has an error type of its own for data that is no such call.
    return null
  }
}

function encodeAgain({ kind, ...known }: Known, { deadline, legs }: RoutedSwap) {
  const swap = { ...known, deadline }
  const [leg, other] = legs
  if (leg === undefined) throw new Error('a swap has a leg')
  if (kind === 'v3') return encodeRouter02Swap(swap, legs)
  if (other !== undefined) throw new Error('a V2 router swaps exactly one leg')
  return encodeV2Swap(swap, leg)
}

function readRouter02(data: string, exactOutput: boolean): RoutedSwap {
  const [deadline, calls] = ROUTER02.decodeFunctionData('multicall', data)
  const legs = (calls as readonly string[]).flatMap((call) => readLeg(call, exactOutput) ?? [])
  return { deadline: Number(deadline as bigint), legs }
}

/** `null` for what is no leg, such as the refund. */
function readLeg(data: string, exactOutput: boolean): RouterLeg | null {
  const call = ROUTER02.parseTransaction({ data })
  if (call === null) return null
  switch (call.name) {
    case 'exactInputSingle':
    case 'exactOutputSingle': {
      const [from, to, fee, , amount, limit] = call.args[0]
      return legOf('v3', [{ from, to, feePpm: Number(fee) }], { amount, limit, exactOutput })
    }
    case 'exactInput':
    case 'exactOutput': {
      const [path, , amount, limit] = call.args[0]
      return legOf('v3', unpackPath(path, exactOutput), { amount, limit, exactOutput })
    }
    case 'swapExactTokensForTokens': {
      const [amount, limit, tokens] = call.args
      return legOf('v2', hopsOf(tokens), { amount, limit, exactOutput })
    }
    default:
      return null
  }
}

function readV2(data: string, value: bigint, { exactOutput, native }: Known): RoutedSwap {
  const call = V2_ROUTER.parseTransaction({ data })
  if (call === null) throw new Error('no function of a V2 router')
  // With the native currency, the value of the call is the amount that comes in.
  const [first, second] = call.args
  const [amount, limit] = native !== 'in' ? [first, second] : exactOutput ? [first, value] : [value, first]
  const [tokens, , deadline] = call.args.slice(native === 'in' ? 1 : 2)
  return { deadline: Number(deadline), legs: [legOf('v2', hopsOf(tokens), { amount, limit, exactOutput })] }
}

type Amounts = { readonly amount: bigint; readonly limit: bigint; readonly exactOutput: boolean }

/** The amount that is not fixed is not in the data: its bound is. */
function legOf(kind: RouterLeg['kind'], hops: RouterLeg['hops'], { amount, limit, exactOutput }: Amounts): RouterLeg {
  const amounts = exactOutput ? { amountIn: limit, amountOut: amount } : { amountIn: amount, amountOut: limit }
  return { kind, hops, ...amounts, limit }
}

function hopsOf(tokens: readonly string[]): RouterLeg['hops'] {
  return tokens.slice(1).map((to, i) => ({ from: tokens[i] ?? '', to, feePpm: 0 }))
}

/** Tokens of 20 bytes with a tier of 3 bytes between them; of an exact output backwards. */
function unpackPath(path: string, exactOutput: boolean): RouterLeg['hops'] {
  const [first, ...rest] = [...path.slice(2).matchAll(/(.{40})(.{6})?/g)].map(([, token, fee]) => ({
    token: `0x${token}`,
    fee: Number.parseInt(fee ?? '0', 16),
  }))
  if (first === undefined) return []
  const tiers = [first, ...rest].map(({ fee }) => fee)
  const hops = rest.map(({ token }, i) => ({
    from: [first, ...rest][i]?.token ?? '',
    to: token,
    feePpm: tiers[i] ?? 0,
  }))
  return exactOutput ? hops.map(({ from, to, feePpm }) => ({ from: to, to: from, feePpm })).reverse() : hops
}
