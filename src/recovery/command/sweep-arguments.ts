/** Parses the options of a sweep. Amounts are whole base units: nothing is rounded or guessed. */
import { parseAddress, parseRecipient } from '../../chain/address.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { SweepPayload, SweepRequest } from '../kit/sign-sweep.ts'
import type { Options } from './options.ts'
import { WrongUsage } from './usage.ts'

const MAX_UINT256 = (1n << 256n) - 1n

/** @throws WrongUsage with a message of one line */
export function parseSweep(options: Options): SweepRequest {
  const request = {
    wallet: address(options, 'wallet', parseAddress),
    payload: payloadOf(options),
    chainId: count(options, 'chain-id', 1),
    nonce: count(options, 'nonce', 0),
    gasLimit: quantity(options, 'gas-limit'),
    maxFeePerGas: quantity(options, 'max-fee-per-gas'),
    maxPriorityFeePerGas: quantity(options, 'max-priority-fee-per-gas'),
  }
  if (request.gasLimit < 21_000n)
    throw new WrongUsage('--gas-limit must be at least 21000, the lowest cost of a transaction')
  if (request.maxPriorityFeePerGas > request.maxFeePerGas) {
    throw new WrongUsage('--max-priority-fee-per-gas must be at most --max-fee-per-gas')
  }
  return request
}

/** The options that select what is moved; they exclude the others. */
const KINDS = {
  value: ['value'],
  balance: ['balance'],
  token: ['token', 'amount'],
  call: ['data', 'value'],
} as const

function payloadOf(options: Options): SweepPayload {
  const given = (['value', 'balance', 'token', 'amount', 'data'] as const).filter((name) => options[name] !== undefined)
  const kind = kindOf(given)
  const to = address(options, 'to', parseRecipient)
  switch (kind) {
    case 'value':
      return { kind, to, value: quantity(options, 'value') }
    case 'balance':
      return { kind, to, balance: quantity(options, 'balance') }
    case 'token':
      return { kind, to, token: address(options, 'token', parseRecipient), amount: quantity(options, 'amount') }
    case 'call': {
      const { data = '' } = options
      if (!/^0x([0-9a-fA-F]{2})+$/.test(data))
        throw new WrongUsage('--data must be call data: 0x and pairs of hex digits')
      return {
        kind,
        to,
        data: data.toLowerCase(),
        value: options.value === undefined ? 0n : quantity(options, 'value'),
      }
    }
    default:
      return kind satisfies never
  }
}

function kindOf(given: readonly string[]): keyof typeof KINDS {
  const kind = given.includes('data')
    ? 'call'
    : given.includes('token')
      ? 'token'
      : given.includes('balance')
        ? 'balance'
        : 'value'
  const takes: readonly string[] = KINDS[kind]
  if (given.length > 0 && given.every((name) => takes.includes(name))) return kind
  const names = given.map((name) => `--${name}`).join(' with ')
  throw new WrongUsage(
    `use one of --value, --balance, --token with --amount, or --data${given.length === 0 ? '' : `, not ${names}`}`,
  )
}

function address(
  options: Options,
  name: 'wallet' | 'to' | 'token',
  parse: (text: string, field: string) => string,
): string {
  const text = options[name]
  if (text === undefined) throw new WrongUsage(`--${name} is missing: an address`)
  try {
    return parse(text, `--${name}`)
  } catch (error) {
    throw error instanceof ValidationFailed ? new WrongUsage(error.message) : error
  }
}

/** Digits, or a JSON-RPC quantity (`0x1bc16d674ec80000`), so that a node's result can be used directly. */
const QUANTITY = /^(\d{1,78}|0x[0-9a-f]{1,64})$/i

function quantity(options: Options, name: keyof Options): bigint {
  const text = options[name]
  if (typeof text !== 'string') throw new WrongUsage(`--${name} is missing: a whole number`)
  const value = QUANTITY.test(text) ? BigInt(text) : MAX_UINT256 + 1n
  if (value <= MAX_UINT256) return value
  throw new WrongUsage(
    `--${name} must be a whole number in base units (wei), in decimal digits or as 0x and hex digits`,
  )
}

function count(options: Options, name: 'chain-id' | 'nonce', least: number): number {
  const value = quantity(options, name)
  if (value >= least && value <= Number.MAX_SAFE_INTEGER) return Number(value)
  throw new WrongUsage(`--${name} must be a whole number of at least ${least}`)
}
