/** Reads the call that a request describes: its target, call data and value, all checked before any node is asked. */

import { encodeValues } from '../chain/abi-encode.ts'
import type { AbiFragment } from '../chain/abi-fragment.ts'
import { readArguments } from '../chain/abi-values.ts'
import { parseRecipient } from '../chain/address.ts'
import { ValidationFailed } from '../core/errors.ts'
import { createMistakes, type Mistakes } from '../core/mistakes.ts'
import { parseAmount } from '../core/money.ts'
import {
  type Abi,
  type FoundFunction,
  findFunction,
  fragmentsOf,
  parseSignature,
  requireAbiSize,
} from './find-function.ts'

/** Nodes refuse larger transactions (geth: txMaxSize). */
const MAX_DATA_BYTES = 131_072
/** The native currency of every supported network. */
const NATIVE_DECIMALS = 18
/** Up to this address there are precompiled contracts, or may be. */
const LAST_PRECOMPILE = 0x1ffn
const DATA = /^0x(?:[0-9a-fA-F]{2})*$/

export type CallFields = {
  readonly contractAddress: string
  readonly abi?: Abi | undefined
  readonly function?: string | undefined
  readonly functionSignature?: string | undefined
  readonly data?: string | undefined
  readonly args?: readonly unknown[] | undefined
  readonly value?: string | undefined
}

export type DescribedCall = {
  /** EIP-55. */
  readonly to: string
  readonly data: string
  /** Wei. */
  readonly value: bigint
  /** `null` if only call data was given. */
  readonly called: FoundFunction | null
  readonly events: readonly AbiFragment[]
  readonly errors: readonly AbiFragment[]
}

/**
 * @param wallet its address
 * @throws ValidationFailed: a field, `zero_address`, `precompile`, `own_address`, `use_transfer`, `invalid_abi`,
 *   `unknown_function`, `ambiguous_function`, `selector_mismatch`, `not_payable`
 */
export function readCall(fields: CallFields, wallet: string): DescribedCall {
  const { abi = [] } = fields
  requireAbiSize(abi)
  const mistakes = createMistakes()
  requireShape(fields, mistakes)
  mistakes.settle()
  const to = mistakes.attempt(() => parseTarget(fields.contractAddress, wallet))
  const value = mistakes.attempt(() => parseAmount(fields.value ?? '0', NATIVE_DECIMALS, 'value'))
  const called = mistakes.attempt(() => readFunction(fields)) ?? null
  const events = mistakes.attempt(() => fragmentsOf(abi, 'event'))
  const errors = mistakes.attempt(() => fragmentsOf(abi, 'error'))
  mistakes.settle()
  const data = fields.data === undefined ? encode(called, fields.args ?? [], mistakes) : readData(fields.data, called)
  mistakes.settle()
  requireSize(data)
  if (to === undefined || value === undefined) throw new Error('a field that was not read must be reported')
  if (called !== null && value > 0n) requirePayable(called)
  return { to, data, value, called, events: events ?? [], errors: errors ?? [] }
}

function requireShape({ abi, function: name, functionSignature, data, args }: CallFields, { note }: Mistakes): void {
  if (name !== undefined && functionSignature !== undefined)
    note(['function_signature'], 'not_allowed', 'is not allowed with function: send one of the two')
  if (name !== undefined && abi === undefined) note(['abi'], 'required', 'is required with function')
  if (name === undefined && functionSignature === undefined && data === undefined)
    note(['function'], 'required', 'is required, with abi: or send function_signature, or data')
  if (data !== undefined && args !== undefined)
    note(['args'], 'not_allowed', 'is not allowed with data, which has the arguments already')
}

function parseTarget(text: string, wallet: string): string {
  const field = 'contract_address'
  const to = parseRecipient(text, field)
  if (BigInt(to) <= LAST_PRECOMPILE) {
    const rule = `${field} is a precompiled contract, which has no functions: use the address of a deployed contract.`
    throw ValidationFailed.field(field, 'precompile', rule)
  }
  if (to !== wallet) return to
  const rule = `${field} is the wallet itself, which is not a contract: use the address of a deployed contract.`
  throw ValidationFailed.field(field, 'own_address', rule)
}

function readFunction({ abi = [], function: name, functionSignature }: CallFields): FoundFunction | null {
  if (name !== undefined) return findFunction(abi, name)
  return functionSignature === undefined ? null : parseSignature(functionSignature, 'function_signature')
}

function encode(called: FoundFunction | null, args: readonly unknown[], mistakes: Mistakes): string {
  if (called === null) throw new Error('a call without data must name its function')
  const values = readArguments(called.inputs, args, ['args'], mistakes)
  mistakes.settle()
  return called.hash.slice(0, 10) + encodeValues(called.inputs, values)
}

function readData(text: string, called: FoundFunction | null): string {
  if (!DATA.test(text)) {
    const rule = 'data must be bytes: 0x and an even number of hexadecimal digits.'
    throw ValidationFailed.field('data', 'invalid_hex', rule)
  }
  const data = text.toLowerCase()
  if (data === '0x') {
    const rule =
      'data is empty, so no function would be called: send native currency with POST /v1/wallets/{wallet_id}/transfer.'
    throw ValidationFailed.field('data', 'use_transfer', rule)
  }
  if (called === null || data.slice(0, 10) === called.hash.slice(0, 10)) return data
  const rule = `data begins with ${data.slice(0, 10)}, but ${called.signature} has the selector ${called.hash.slice(0, 10)}: correct one of them.`
  throw ValidationFailed.field('data', 'selector_mismatch', rule)
}

function requireSize(data: string): void {
  const bytes = (data.length - 2) / 2
  if (bytes <= MAX_DATA_BYTES) return
  const rule = `data has ${bytes} bytes, but a transaction carries at most ${MAX_DATA_BYTES}: split the call.`
  throw ValidationFailed.field('data', 'too_large', rule)
}

function requirePayable({ isMutabilityKnown, mutability, signature }: FoundFunction): void {
  if (!isMutabilityKnown || mutability === 'payable') return
  const rule = `value must be 0: ${signature} is not payable. Omit it.`
  throw ValidationFailed.field('value', 'not_payable', rule)
}
