/**
 * Token metadata that a contract reports. The contract is untrusted: each answer is bounded in gas and size, and
 * cleaned.
 */
import { Unavailable } from '../core/errors.ts'
import { foreignText } from './foreign-text.ts'
import { GAS_BOUNDS } from './forks.ts'
import { wordAt } from './hex.ts'
import type { RpcReader } from './json-rpc.ts'
import { NATIVE_LOG_ADDRESS } from './native-logs.ts'
import { answerOf, cappedCall, MAX_ANSWER_BYTES, readTokens, type TokenReadFailure } from './token-reads.ts'

const SYMBOL = '0x95d89b41'
const DECIMALS = '0x313ce567'
const NAME = '0x06fdde03'

/** Longer names are decoration or an attack on programs that print them. */
const MAX_TEXT_BYTES = 64
/** With more, one whole unit would exceed the largest amount: 2^256 has 78 digits. */
const MAX_DECIMALS = 77n

export type TokenMetadata = { readonly symbol: string; readonly name: string; readonly decimals: number }

/** `flaw` is how the contract violates ERC-20, completing a sentence that starts with the contract. */
export type TokenDescription = { readonly token: TokenMetadata } | { readonly flaw: string }

/**
 * Reads a contract's token metadata and checks that it returns balances.
 *
 * @throws Unavailable when no node answered in time
 */
export async function describeToken(client: RpcReader, token: string): Promise<TokenDescription> {
  if (token.toLowerCase() === NATIVE_LOG_ADDRESS)
    return { flaw: 'it stands for the native currency in logs (EIP-7708)' }
  const calls = [SYMBOL, NAME, DECIMALS].map((data) => cappedCall({ to: token, data }, 'latest'))
  const [symbolAnswer, nameAnswer, decimalsAnswer] = (await client.batch(calls)).map(answerOf)
  const symbol = readSymbol(symbolAnswer)
  if ('flaw' in symbol) return symbol
  const decimals = readDecimals(decimalsAnswer)
  if ('flaw' in decimals) return decimals
  // The balance of the contract itself, since some tokens refuse the zero address.
  const [balance] = await readTokens(client, [{ token, owner: token }], 'latest')
  if (balance === undefined || 'failure' in balance) return { flaw: flawOf('balanceOf()', balance?.failure) }
  // The name is optional in ERC-20.
  const name = nameAnswer === undefined || 'failure' in nameAnswer ? null : readText(nameAnswer.data)
  return {
    token: {
      symbol: symbol.text,
      name: foreignText(name ?? symbol.text, MAX_TEXT_BYTES),
      decimals: decimals.count,
    },
  }
}

type Answer = ReturnType<typeof answerOf> | undefined

function readSymbol(answer: Answer): { readonly text: string } | { readonly flaw: string } {
  if (answer === undefined || 'failure' in answer) return { flaw: flawOf('symbol()', answer?.failure) }
  const text = readText(answer.data)
  if (text === null || text === '') return { flaw: flawOf('symbol()', 'none') }
  return Buffer.byteLength(text) > MAX_TEXT_BYTES
    ? { flaw: `its symbol() is longer than ${MAX_TEXT_BYTES} bytes` }
    : { text }
}

function readDecimals(answer: Answer): { readonly count: number } | { readonly flaw: string } {
  if (answer === undefined || 'failure' in answer) return { flaw: flawOf('decimals()', answer?.failure) }
  const decimals = wordAt(answer.data, 0)
  if (decimals === null) return { flaw: flawOf('decimals()', 'none') }
  return decimals > MAX_DECIMALS ? { flaw: `its decimals() is above ${MAX_DECIMALS}` } : { count: Number(decimals) }
}

function flawOf(call: string, failure: TokenReadFailure | undefined): string {
  switch (failure) {
    case 'gas':
      return `its ${call} uses more than ${GAS_BOUNDS.tokenRead} gas`
    case 'size':
      return `its ${call} returns more than ${MAX_ANSWER_BYTES} bytes`
    case 'none':
      return `its ${call} does not return what ERC-20 requires, or the contract does not exist`
    default:
      throw new Unavailable('rpc_unavailable', `No node returned ${call} of the contract in time.`)
  }
}

/** A `string`, or a `bytes32` padded with zeros as tokens older than the standard return. */
function readText(data: string): string | null {
  if (data.length < 66) return null
  const bytes = Buffer.from(data.slice(2), 'hex')
  if (bytes.length === 32) return nameOf(bytes)
  const length = wordAt(data, 1)
  if (wordAt(data, 0) !== 32n || length === null || length > BigInt(bytes.length - 64)) return null
  return nameOf(bytes.subarray(64, 64 + Number(length)))
}

/** Line breaks and tabs are removed: a symbol is one word. */
function nameOf(bytes: Buffer): string {
  return foreignText(bytes.toString('utf8').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ''), MAX_ANSWER_BYTES)
}
