/**
 * Finds what call data allows others to spend: ERC-20 allowances and permits (EIP-2612, DAI), operators of collections
 * (ERC-721, ERC-1155) and Permit2, inside multicalls too. Reads as leniently as contracts do: missing bytes are zeros,
 * and the upper bits of addresses are ignored. The effort is limited; what is not read is reported as `unreadable`.
 */
import { id } from 'ethers/hash'
import { type Spend, UNLIMITED } from '../core/spends.ts'
import { toChecksumAddress } from './address.ts'

/** Multicalls inside of each other. */
const MAX_DEPTH = 3
/** Calls inside of multicalls, all together. */
const MAX_CALLS = 1_024
const MAX_SPENDS = 64
const WORD = 32
/** Tokens that count in 96 or 128 bits treat their largest value as infinite. */
const INFINITE = [(1n << 96n) - 1n, (1n << 128n) - 1n]
/** Permit2 counts in 160 bits, other tokens in 256. */
const LEAST_INFINITE = (1n << 160n) - 1n

/** Call data without its selector, and where it is called. Addresses are in lower case until the end. */
type Call = { readonly target: string; readonly args: Buffer }
type Found = { readonly spends: readonly Spend[]; readonly calls: readonly InnerCall[] | null }
type InnerCall = { readonly target: string; readonly data: Buffer }
type Reader = (call: Call, owner: string) => Found

const READERS: ReadonlyMap<string, Reader> = new Map([
  ...allowance('approve', 'approve', ['(address,uint256)']),
  ...allowance('approve', 'approveAndCall', ['(address,uint256)', '(address,uint256,bytes)']),
  ...allowance('increase_allowance', 'increaseAllowance', ['(address,uint256)']),
  ...allowance('increase_allowance', 'increaseApproval', ['(address,uint256)']),
  entry('setApprovalForAll(address,bool)', ({ target, args }) =>
    only('set_approval_for_all', target, addressAt(args, 0), allOrNone(args, 1)),
  ),
  ...['uint8,bytes32,bytes32', 'bytes'].map((signature) =>
    entry(`permit(address,address,uint256,uint256,${signature})`, ({ target, args }, owner) =>
      addressAt(args, 0) === owner
        ? only('permit', target, addressAt(args, 1), amountOf(wordAt(args, 2 * WORD)))
        : NOTHING,
    ),
  ),
  entry('permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)', ({ target, args }, owner) =>
    addressAt(args, 0) === owner ? only('permit', target, addressAt(args, 1), allOrNone(args, 4)) : NOTHING,
  ),
  entry('approve(address,address,uint160,uint48)', ({ args }) =>
    only('permit2', addressAt(args, 0), addressAt(args, 1), permit2Amount(args, 2 * WORD)),
  ),
  entry('permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)', ({ args }, owner) =>
    addressAt(args, 0) === owner
      ? only('permit2', addressAt(args, 1), addressAt(args, 5), permit2Amount(args, 2 * WORD))
      : NOTHING,
  ),
  entry('permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)', readPermitBatch),
  entry('multicall(bytes[])', (call) => ({ spends: [], calls: ownCalls(call, 0) })),
  entry('multicall(uint256,bytes[])', (call) => ({ spends: [], calls: ownCalls(call, WORD) })),
  entry('multicall(bytes32,bytes[])', (call) => ({ spends: [], calls: ownCalls(call, WORD) })),
  ...['aggregate', 'blockAndAggregate'].map((name) => entry(`${name}((address,bytes)[])`, aggregated(0, 1))),
  ...['tryAggregate', 'tryBlockAndAggregate'].map((name) =>
    entry(`${name}(bool,(address,bytes)[])`, aggregated(WORD, 1)),
  ),
  entry('aggregate3((address,bool,bytes)[])', aggregated(0, 2)),
  entry('aggregate3Value((address,bool,uint256,bytes)[])', aggregated(0, 3)),
])

const NOTHING: Found = { spends: [], calls: [] }
const UNREADABLE: Spend = { kind: 'unreadable', token: null, spender: null, amount: UNLIMITED }

/**
 * In the order of the calls. A permit of another owner is none of the caller's.
 *
 * @param data `0x` and hex digits
 * @param owner the caller
 * @returns at most 64, and after them one `unreadable` for a multicall that is too large, too deep or not valid
 */
export function spendsOf(
  { to, data }: { readonly to: string; readonly data: string },
  owner: string,
): readonly Spend[] {
  const spends: Spend[] = []
  const from = owner.toLowerCase()
  let left = MAX_CALLS
  let isCut = false

  function read({ target, data: bytes }: InnerCall, depth: number): void {
    const reader = READERS.get(bytes.toString('hex', 0, 4))
    if (reader === undefined || isCut) return
    const { spends: found, calls } = reader({ target, args: bytes.subarray(4) }, from)
    spends.push(...found)
    left -= calls?.length ?? 0
    isCut = calls === null || left < 0 || spends.length > MAX_SPENDS || (calls.length > 0 && depth === MAX_DEPTH)
    if (calls === null || isCut) return
    for (const call of calls) read(call, depth + 1)
  }

  read({ target: to.toLowerCase(), data: Buffer.from(data.slice(2), 'hex') }, 0)
  const told = spends.slice(0, MAX_SPENDS).map((spend) => ({
    ...spend,
    token: spend.token === null ? null : toChecksumAddress(spend.token),
    spender: spend.spender === null ? null : toChecksumAddress(spend.spender),
  }))
  return isCut ? [...told, UNREADABLE] : told
}

function entry(signature: string, reader: Reader): readonly [string, Reader] {
  return [id(signature).slice(2, 10), reader]
}

function allowance(kind: Spend['kind'], name: string, parameters: readonly string[]) {
  const reader: Reader = ({ target, args }) => only(kind, target, addressAt(args, 0), amountOf(wordAt(args, WORD)))
  return parameters.map((each) => entry(name + each, reader))
}

function only(kind: Spend['kind'], token: string, spender: string, amount: string): Found {
  return { spends: [{ kind, token, spender, amount }], calls: [] }
}

/** The calls of a multicall to its own contract. */
function ownCalls({ target, args }: Call, head: number): readonly InnerCall[] | null {
  return itemsAt(args, head, (start, at) => {
    const data = bytesAt(args, start, at)
    return data === null ? null : { target, data }
  })
}

/** @param head where the offset of the list is; @param dataWord the place of the call data in an item */
function aggregated(head: number, dataWord: number): Reader {
  return ({ args }) => ({
    spends: [],
    calls: itemsAt(args, head, (start, at) => {
      const item = placeAt(args, start, at)
      const data = item === null ? null : bytesAt(args, item, item + dataWord * WORD)
      return item === null || data === null ? null : { target: addressIn(args, item), data }
    }),
  })
}

function readPermitBatch({ args }: Call, owner: string): Found {
  if (addressIn(args, 0) !== owner) return NOTHING
  const batch = placeAt(args, 0, WORD)
  const list = batch === null ? null : placeAt(args, batch, batch)
  const count = list === null ? null : countAt(args, list)
  if (batch === null || list === null || count === null) return { spends: [], calls: null }
  const spender = addressIn(args, batch + WORD)
  const details = Array.from({ length: count }, (_, n) => list + WORD + n * 4 * WORD)
  return {
    spends: details.map((at) => ({
      kind: 'permit2',
      token: addressIn(args, at),
      spender,
      amount: permit2Amount(args, at + WORD),
    })),
    calls: [],
  }
}

/** The items of a list of dynamic items; `null` if one is not valid. @param read gets where offsets begin, and its own */
function itemsAt(
  args: Buffer,
  head: number,
  read: (start: number, at: number) => InnerCall | null,
): readonly InnerCall[] | null {
  const list = placeAt(args, 0, head)
  const count = list === null ? null : countAt(args, list)
  if (list === null || count === null) return null
  const items = Array.from({ length: count }, (_, n) => read(list + WORD, list + WORD + n * WORD))
  return items.some((item) => item === null) ? null : items.filter((item) => item !== null)
}

/** Offsets are signed, as in the decoder of Solidity. @returns `null` if it is not in the data */
function placeAt(args: Buffer, start: number, at: number): number | null {
  const place = BigInt(start) + BigInt.asIntN(256, wordAt(args, at))
  return place >= 0n && place < BigInt(args.length) ? Number(place) : null
}

function countAt(args: Buffer, at: number): number | null {
  const count = wordAt(args, at)
  return count > BigInt(MAX_CALLS) ? null : Number(count)
}

function bytesAt(args: Buffer, start: number, at: number): Buffer | null {
  const place = placeAt(args, start, at)
  if (place === null) return null
  const length = wordAt(args, place)
  const from = place + WORD
  return BigInt(from) + length <= BigInt(args.length) ? args.subarray(from, from + Number(length)) : null
}

function wordAt(args: Buffer, at: number): bigint {
  return BigInt(`0x${args.toString('hex', at, at + WORD).padEnd(2 * WORD, '0')}`)
}

function addressIn(args: Buffer, at: number): string {
  return `0x${args.toString('hex', at + 12, at + WORD).padEnd(40, '0')}`
}

/** @param index of the parameter */
function addressAt(args: Buffer, index: number): string {
  return addressIn(args, index * WORD)
}

function amountOf(amount: bigint): string {
  return amount >= LEAST_INFINITE || INFINITE.includes(amount) ? UNLIMITED : amount.toString()
}

function permit2Amount(args: Buffer, at: number): string {
  return amountOf(BigInt.asUintN(160, wordAt(args, at)))
}

function allOrNone(args: Buffer, index: number): string {
  return wordAt(args, index * WORD) === 0n ? '0' : UNLIMITED
}
