/**
 * The bytes of transactions and receipts from the fields that nodes return (EIP-2718 and the types that follow it), the
 * sender that signed them, and the numbers and bytes in those fields. Other fields than these nobody signed.
 */
import { RLP } from '@ethereumjs/rlp'
import { fastKeccak } from './fast-keccak.ts'

export type Raw = Readonly<Record<string, unknown>>
export type Rlp = Uint8Array | Rlp[]
/** @returns in lower case; `null` when no key made this signature */
export type RecoverAddress = (digest: Uint8Array, signature: Uint8Array, parity: 0 | 1) => string | null

/** PIP-74: what the consensus of Polygon brings over from Ethereum, in a transaction that nobody signed. */
export const STATE_SYNC_TYPE = 0x7f
const SHOWN_STATE_SYNC_TYPE = '0x7f'

/** The signed fields of a transaction by its type. */
const FEES = ['maxPriorityFeePerGas', 'maxFeePerGas']
const CALL = ['gas', 'to', 'value', 'input']
const SIGNED_FIELDS: Readonly<Record<number, readonly string[]>> = {
  0: ['nonce', 'gasPrice', ...CALL],
  1: ['chainId', 'nonce', 'gasPrice', ...CALL, 'accessList'],
  2: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList'],
  3: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList', 'maxFeePerBlobGas', 'blobVersionedHashes'],
  4: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList', 'authorizationList'],
}
export const NOBODY = `0x${'00'.repeat(20)}`
/** Without leading zeros: whoever compares the type with a text sees the same type. */
const QUANTITY = /^0x(?:0|[1-9a-f][0-9a-f]*)$/
/** EIP-155: from here on, `v` of a transaction without a type names its chain. */
const FIRST_PROTECTED_V = 35n

/**
 * Whether the fields of this transaction are not its bytes: nodes show nothing of what a state sync brings over. Its
 * bytes are then expected as `raw`, which eth_getRawTransactionByHash returns.
 */
export function lacksBytes(raw: Raw): boolean {
  return raw.type === SHOWN_STATE_SYNC_TYPE && raw.raw === undefined
}

/** @throws Error that says which field is missing, or that the type is unknown */
export function transactionBytes(raw: Raw): Uint8Array {
  const type = typeOf(raw)
  if (type === STATE_SYNC_TYPE) return stateSyncBytes(raw)
  return typed(type, RLP.encode([...signedFields(raw, type), numberOf(parityOf(raw, type), 'v'), ...rAndS(raw)]))
}

/** Whether a development node made it for an account whose key it lacks: no public chain has one in a root. */
export function isUnsigned(raw: Raw): boolean {
  return typeOf(raw) !== STATE_SYNC_TYPE && Number(raw.r) === 0 && Number(raw.s) === 0
}

/**
 * The account that signed a transaction: dear, therefore only for those that matter.
 *
 * @param raw the fields as a node returns them
 * @returns in lower case; `null` when nobody signed it
 * @throws Error when they are no transaction
 */
export function senderOf(raw: Raw, recover: RecoverAddress): string | null {
  const type = typeOf(raw)
  if (type === STATE_SYNC_TYPE) return null
  const fields = signedFields(raw, type)
  const v = BigInt(`0x0${hexOf(numberOf(parityOf(raw, type), 'v'))}`)
  const isProtected = type === 0 && v >= FIRST_PROTECTED_V
  if (isProtected) fields.push(minimal((v - FIRST_PROTECTED_V) / 2n), new Uint8Array(), new Uint8Array())
  const parity = type > 0 ? v : isProtected ? (v - FIRST_PROTECTED_V) % 2n : v - 27n
  if (parity !== 0n && parity !== 1n) return null
  const signature = Buffer.from(
    rAndS(raw)
      .map((part) => hexOf(part).padStart(64, '0'))
      .join(''),
    'hex',
  )
  return recover(fastKeccak(typed(type, RLP.encode(fields))), signature, parity === 0n ? 0 : 1)
}

/** @throws Error that says which field is missing */
export function receiptBytes(raw: Raw): Uint8Array {
  const logs = listOf(raw.logs).map((log) => [
    bytesOf(memberOf(log, 'address'), 'address of a log'),
    listOf(memberOf(log, 'topics')).map((topic) => bytesOf(topic, 'topic')),
    bytesOf(memberOf(log, 'data'), 'data of a log'),
  ])
  // Before Byzantium (EIP-658) a receipt has a state root instead.
  const outcome = raw.status == null ? bytesOf(raw.root, 'status') : numberOf(raw.status, 'status')
  const gas = numberOf(raw.cumulativeGasUsed, 'cumulativeGasUsed')
  return typed(typeOf(raw), RLP.encode([outcome, gas, bytesOf(raw.logsBloom, 'logsBloom'), logs]))
}

/** @throws Error */
export function typeOf({ type }: Raw): number {
  if (type == null) return 0
  if (typeof type !== 'string' || !QUANTITY.test(type)) throw new Error('its type is no number')
  const known = Number(type)
  if (known !== STATE_SYNC_TYPE && SIGNED_FIELDS[known] === undefined)
    throw new Error(`its type ${type} is unknown here`)
  return known
}

/** @throws Error */
export function bytesOf(value: unknown, name: string): Uint8Array {
  if (typeof value === 'string' && value.startsWith('0x') && value.length % 2 === 0) {
    const read = Buffer.from(value.slice(2), 'hex')
    if (2 * read.length === value.length - 2) return read
  }
  throw new Error(`its ${name} is ${value == null ? 'missing' : 'not bytes'}`)
}

/** Whether a node says what was computed, whatever the case of its letters. */
export function isSame(claimed: unknown, computed: string): boolean {
  return claimed === computed || (typeof claimed === 'string' && claimed.toLowerCase() === computed)
}

/** The shortest bytes of a number. @throws Error */
export function numberOf(value: unknown, name: string): Uint8Array {
  if (typeof value !== 'string' || !/^0x[0-9a-f]+$/i.test(value))
    throw new Error(`its ${name} is ${value == null ? 'missing' : 'no number'}`)
  const digits = value.slice(2).replace(/^0+/, '')
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
}

/** @throws Error that says of which part it speaks */
export function within<T>(part: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw new Error(`${part}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Its bytes have none of the fields that nodes show of it: these are always the same. */
function stateSyncBytes(raw: Raw): Uint8Array {
  if (lacksBytes(raw)) throw new Error('it is a state sync, and its bytes were not asked for')
  const bytes = bytesOf(raw.raw, 'raw')
  if (bytes[0] !== STATE_SYNC_TYPE) throw new Error('it is a state sync, and its bytes are not')
  const { to, input } = raw
  const isEmpty = ['nonce', 'value'].every((name) => numberOf(raw[name], name).length === 0)
  if (!isEmpty || to !== NOBODY || (input ?? '0x') !== '0x')
    throw new Error('it is a state sync, and more is shown of it')
  return bytes
}

function signedFields(raw: Raw, type: number): Rlp[] {
  return (SIGNED_FIELDS[type] ?? []).map((name) => signedField(name, raw[name]))
}

function parityOf(raw: Raw, type: number): unknown {
  return type === 0 ? raw.v : (raw.yParity ?? raw.v)
}

function rAndS(raw: Raw): Uint8Array[] {
  return [numberOf(raw.r, 'r'), numberOf(raw.s, 's')]
}

function signedField(name: string, value: unknown): Rlp {
  if (name === 'to') return value == null ? new Uint8Array() : bytesOf(value, name)
  if (name === 'input') return bytesOf(value ?? '0x', name)
  if (name === 'blobVersionedHashes') return listOf(value).map((hash) => bytesOf(hash, name))
  if (name === 'accessList')
    return listOf(value).map((entry) => [
      bytesOf(memberOf(entry, 'address'), name),
      listOf(memberOf(entry, 'storageKeys')).map((key) => bytesOf(key, name)),
    ])
  if (name === 'authorizationList')
    return listOf(value).map((entry) => [
      numberOf(memberOf(entry, 'chainId'), name),
      bytesOf(memberOf(entry, 'address'), name),
      numberOf(memberOf(entry, 'nonce'), name),
      numberOf(memberOf(entry, 'yParity') ?? memberOf(entry, 'v'), name),
      numberOf(memberOf(entry, 'r'), name),
      numberOf(memberOf(entry, 's'), name),
    ])
  return numberOf(value, name)
}

function typed(type: number, body: Uint8Array): Uint8Array {
  if (type === 0) return body
  const whole = new Uint8Array(body.length + 1)
  whole[0] = type
  whole.set(body, 1)
  return whole
}

function minimal(value: bigint): Uint8Array {
  return numberOf(`0x${value.toString(16)}`, 'v')
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Raw | null)?.[name]
}
