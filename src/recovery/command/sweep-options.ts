/** The options of `sweep`. Amounts are whole base units: nothing is rounded or guessed. */

import { parseAddress, parseRecipient } from '../../chain/address.ts'
import { FORKS, type Fork, INTRINSIC_GAS, rulesOf } from '../../chain/forks.ts'
import { BadInput, type CliOption, type CliOptions } from '../../cli/command.ts'
import { textOf } from '../../cli/option-values.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { SweepPayload, SweepRequest } from '../kit/sign-sweep.ts'

const MAX_UINT256 = (1n << 256n) - 1n

/** The kit works offline: it cannot ask a node which rules the chain runs. The newest ones are the dearest. */
const NEWEST_FORK = 'amsterdam'
const RULES = rulesOf(NEWEST_FORK)

export const SWEEP_OPTIONS: readonly CliOption[] = [
  { flags: '--wallet <address>', description: 'the wallet that sends', required: true },
  { flags: '--to <address>', description: 'the recipient, or the contract of a call', required: true },
  { flags: '--chain-id <n>', description: 'the chain', required: true },
  { flags: '--nonce <n>', description: 'the next nonce of the wallet', required: true },
  { flags: '--gas-limit <n>', description: `at least ${INTRINSIC_GAS}`, required: true },
  { flags: '--max-fee-per-gas <wei>', description: 'the highest price of a unit of gas', required: true },
  { flags: '--max-priority-fee-per-gas <wei>', description: 'the tip in that price', required: true },
  { flags: '--value <wei>', description: 'send this amount of the native currency' },
  { flags: '--balance <wei>', description: 'send the whole balance except the highest cost of the gas' },
  { flags: '--token <address>', description: 'send an ERC-20 token, with --amount' },
  { flags: '--amount <units>', description: 'base units of the token' },
  { flags: '--data <hex>', description: 'call the contract at --to, with or without --value' },
  { flags: '--fork <name>', description: `the rules of the chain: ${FORKS.join(', ')} (default ${NEWEST_FORK})` },
]

/** @throws BadInput */
export function readSweepFork({ fork }: CliOptions): Fork {
  const name = textOf(fork) ?? NEWEST_FORK
  const known = FORKS.find((one) => one === name)
  if (known === undefined) throw new BadInput(`--fork must be one of ${FORKS.join(', ')}`)
  return known
}

export const SWEEP_DETAILS = `Use one of --value, --balance, --token with --amount, or --data.
Numbers: decimal digits, or 0x and hex digits as nodes return them.
The result says which rules it assumes. With those of amsterdam, the native currency to an account that does not exist (no
balance, nonce or code) needs ${RULES.transfer + RULES.newAccount} gas; with less, it fails and the gas is paid.`

/** @throws BadInput */
export function readSweep(options: CliOptions): SweepRequest {
  const request = {
    wallet: address(options, 'wallet', parseAddress),
    payload: payloadOf(options),
    chainId: count(options, 'chain-id', 1),
    nonce: count(options, 'nonce', 0),
    gasLimit: quantity(options, 'gas-limit'),
    maxFeePerGas: quantity(options, 'max-fee-per-gas'),
    maxPriorityFeePerGas: quantity(options, 'max-priority-fee-per-gas'),
  }
  if (request.gasLimit < INTRINSIC_GAS)
    throw new BadInput(`--gas-limit must be at least ${INTRINSIC_GAS}, the lowest cost of a transfer`)
  if (request.maxPriorityFeePerGas > request.maxFeePerGas) {
    throw new BadInput('--max-priority-fee-per-gas must be at most --max-fee-per-gas')
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

function payloadOf(options: CliOptions): SweepPayload {
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
      const data = textOf(options.data) ?? ''
      if (!/^0x([0-9a-fA-F]{2})+$/.test(data))
        throw new BadInput('--data must be call data: 0x and pairs of hex digits')
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
  throw new BadInput(
    `use one of --value, --balance, --token with --amount, or --data${given.length === 0 ? '' : `, not ${names}`}`,
  )
}

function address(
  options: CliOptions,
  name: 'wallet' | 'to' | 'token',
  parse: (text: string, field: string) => string,
): string {
  try {
    return parse(String(options[name]), `--${name}`)
  } catch (error) {
    throw error instanceof ValidationFailed ? new BadInput(error.message) : error
  }
}

/** Digits, or a JSON-RPC quantity (`0x1bc16d674ec80000`), so that a node's result can be used directly. */
const QUANTITY = /^(\d{1,78}|0x[0-9a-f]{1,64})$/i

/** @param name the long name of an option, in kebab case */
function quantity(options: CliOptions, name: string): bigint {
  const text = textOf(options[name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())])
  if (text === undefined) throw new BadInput(`--${name} is missing: a whole number`)
  const value = QUANTITY.test(text) ? BigInt(text) : MAX_UINT256 + 1n
  if (value <= MAX_UINT256) return value
  throw new BadInput(`--${name} must be a whole number in base units (wei), in decimal digits or as 0x and hex digits`)
}

function count(options: CliOptions, name: 'chain-id' | 'nonce', least: number): number {
  const value = quantity(options, name)
  if (value >= least && value <= Number.MAX_SAFE_INTEGER) return Number(value)
  throw new BadInput(`--${name} must be a whole number of at least ${least}`)
}
