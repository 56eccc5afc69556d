/**
 * Finds what call data allows others to spend: ERC-20 allowances and permits (EIP-2612, DAI), operators of collections
 * (ERC-721, ERC-1155) and Permit2, inside multicalls too. Reads as leniently as contracts do: missing bytes are zeros,
 * and the upper bits of addresses are ignored. The effort is limited; what is not read is reported as `unreadable`.
 */
import { id } from 'ethers/hash'
import { type Spend, UNLIMITED } from '../core/spends.ts'
import { toChecksumAddress } from './address.ts'
import { addressAt, addressIn, bytesAt, countAt, placeAt, WORD, wordAt } from './lenient-words.ts'

/** Multicalls inside of each other. */
const MAX_DEPTH = 3
/** Calls inside of multicalls, all together. */
const MAX_CALLS = 1_024
const MAX_SPENDS = 64
/** Tokens that count in 96 or 128 bits treat their largest value as infinite. */
const INFINITE = [(1n << 96n) - 1n, (1n << 128n) - 1n]
/** Permit2 counts in 160 bits, other tokens in 256. */
const LEAST_INFINITE = (1n << 160n) - 1n

/** Call data without its selector, and where it is called. Addresses are in lower case until the end. */
type Call = { readonly target: string; readonly args: Buffer }
type Found = { readonly spends: readonly Spend[]; readonly calls: readonly InnerCall[] | null }
type InnerCall = { readonly target: string; readonly data: Buffer; readonly value?: bigint }
type Reader = (call: Call, owner: string) => Found

const SEAPORT_ORDER =
  '(address,address,(uint8,address,uint256,uint256,uint256)[],(uint8,address,uint256,uint256,uint256,address)[],uint8,uint256,uint256,bytes32,uint256,bytes32,uint256)'

const READERS: ReadonlyMap<string, Reader> = new Map([
  ...allowance('approve', 'approve', ['(address,uint256)']),
  ...allowance('approve', 'approveAndCall', ['(address,uint256)', '(address,uint256,bytes)']),
  ...allowance('increase_allowance', 'increaseAllowance', ['(address,uint256)']),
  ...allowance('increase_allowance', 'increaseApproval', ['(address,uint256)']),
  // The debt that another one may make in the name of the wallet (Aave).
  ...allowance('approve', 'approveDelegation', ['(address,uint256)']),
  // ERC-6909, whose tokens are by id.
  entry('approve(address,uint256,uint256)', ({ target, args }) =>
    only('approve', target, addressAt(args, 0), mostOf(wordAt(args, 2 * WORD))),
  ),
  // LSP7.
  ...allowance('approve', 'authorizeOperator', ['(address,uint256,bytes)']),
  ...allowance('increase_allowance', 'increaseAllowance', ['(address,uint256,bytes)']),
  // DSToken, such as MKR, and the operators of Maker.
  ...['approve(address)', 'hope(address)'].map((one) => entry(one, operator)),
  entry('setApprovalForAll(address,bool)', ({ target, args }) =>
    only('set_approval_for_all', target, addressAt(args, 0), allOrNone(args, 1)),
  ),
  // ERC-777, and ERC-6909: whoever operates moves all.
  entry('authorizeOperator(address)', operator),
  // ERC-6909, Comet, Morpho.
  ...['setOperator(address,bool)', 'allow(address,bool)', 'setAuthorization(address,bool)'].map((one) =>
    entry(one, ({ target, args }) => only('set_approval_for_all', target, addressAt(args, 0), allOrNone(args, 1))),
  ),
  // Balancer and Euler: who acts for an account of the caller.
  ...['setRelayerApproval(address,address,bool)', 'setAccountOperator(address,address,bool)'].map((one) =>
    entry(one, ({ target, args }) => only('set_approval_for_all', target, addressAt(args, 1), allOrNone(args, 2))),
  ),
  // An order that is valid without a signature from then on (CoW, Seaport): it may sell whatever the exchange may take.
  entry('setPreSignature(bytes,bool)', ({ args }) =>
    wordAt(args, WORD) === 0n ? NOTHING : { ...NOTHING, spends: [UNREADABLE] },
  ),
  entry(`validate((${SEAPORT_ORDER},bytes)[])`, () => ({ ...NOTHING, spends: [UNREADABLE] })),
  ...['uint8,bytes32,bytes32', 'bytes'].map((signature) =>
    entry(`permit(address,address,uint256,uint256,${signature})`, ({ target, args }, owner) =>
      addressAt(args, 0) === owner
        ? only('permit', target, addressAt(args, 1), mostOf(wordAt(args, 2 * WORD)))
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
  ...['multicall(bytes[])', 'batch(bytes[],bool)'].map((one) =>
    entry(one, (call) => ({ spends: [], calls: ownCalls(call, 0) })),
  ),
  entry('multicall(uint256,bytes[])', (call) => ({ spends: [], calls: ownCalls(call, WORD) })),
  entry('multicall(bytes32,bytes[])', (call) => ({ spends: [], calls: ownCalls(call, WORD) })),
  ...['aggregate', 'blockAndAggregate'].map((name) => entry(`${name}((address,bytes)[])`, aggregated(0, 1))),
  ...['tryAggregate', 'tryBlockAndAggregate'].map((name) =>
    entry(`${name}(bool,(address,bytes)[])`, aggregated(WORD, 1)),
  ),
  entry('aggregate3((address,bool,bytes)[])', aggregated(0, 2)),
  entry('aggregate3Value((address,bool,uint256,bytes)[])', aggregated(0, 3, 2)),
])

const NOTHING: Found = { spends: [], calls: [] }
const UNREADABLE: Spend = { kind: 'unreadable', token: null, spender: null, amount: UNLIMITED }

/** A call that call data makes: the call itself, or one inside of a multicall. Addresses are in lower case. */
export type MadeCall = {
  readonly target: string
  /** The first 4 bytes of the data in hex, without `0x`; shorter if the data is. */
  readonly selector: string
  /** The data after the selector. */
  readonly args: Buffer
  /** Wei that the call says to send along. */
  readonly value: bigint
  /** What it allows others to spend by itself. */
  readonly spends: readonly Spend[]
  /** Whether it does nothing but make other calls: those after it in the list. */
  readonly isMulticall: boolean
}

/**
 * The calls that call data makes, each before those inside of it. `isCut`: a multicall is too large, too deep or not valid, so that
 * calls are missing.
 *
 * @param data `0x` and hex digits
 * @param owner the caller
 */
export function callsOf(
  { to, data, value = 0n }: { readonly to: string; readonly data: string; readonly value?: bigint },
  owner: string,
): { readonly calls: readonly MadeCall[]; readonly isCut: boolean } {
  const made: MadeCall[] = []
  const from = owner.toLowerCase()
  let left = MAX_CALLS
  let spent = 0
  let isCut = false

  function read({ target, data: bytes, value: wei = 0n }: InnerCall, depth: number): void {
    if (isCut) return
    const [selector, args] = [bytes.toString('hex', 0, 4), bytes.subarray(4)]
    const { spends, calls } = READERS.get(selector)?.({ target, args }, from) ?? NOTHING
    made.push({ target, selector, args, value: wei, spends, isMulticall: calls?.length !== 0 })
    spent += spends.length
    left -= calls?.length ?? 0
    isCut = calls === null || left < 0 || spent > MAX_SPENDS || (calls.length > 0 && depth === MAX_DEPTH)
    if (calls === null || isCut) return
    for (const call of calls) read(call, depth + 1)
  }

  read({ target: to.toLowerCase(), data: Buffer.from(data.slice(2), 'hex'), value }, 0)
  return { calls: made, isCut }
}

/**
 * In the order of the calls. A permit of another owner is none of the caller's.
 *
 * @returns at most 64, and after them one `unreadable` if calls are missing
 */
export function spendsOf(call: { readonly to: string; readonly data: string }, owner: string): readonly Spend[] {
  const { calls, isCut } = callsOf(call, owner)
  const told = calls
    .flatMap(({ spends }) => spends)
    .slice(0, MAX_SPENDS)
    .map((spend) => ({
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
  const reader: Reader = ({ target, args }) => only(kind, target, addressAt(args, 0), mostOf(wordAt(args, WORD)))
  return parameters.map((each) => entry(name + each, reader))
}

/** Whoever may spend all. */
function operator({ target, args }: Call): Found {
  return only('set_approval_for_all', target, addressAt(args, 0), UNLIMITED)
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

/** @param head where the offset of the list is; @param dataWord the place of the call data in an item, and of its value, if it has one */
function aggregated(head: number, dataWord: number, valueWord?: number): Reader {
  return ({ args }) => ({
    spends: [],
    calls: itemsAt(args, head, (start, at) => {
      const item = placeAt(args, start, at)
      const data = item === null ? null : bytesAt(args, item, item + dataWord * WORD)
      if (item === null || data === null) return null
      const value = valueWord === undefined ? 0n : wordAt(args, item + valueWord * WORD)
      return { target: addressIn(args, item), data, value }
    }),
  })
}

function readPermitBatch({ args }: Call, owner: string): Found {
  if (addressIn(args, 0) !== owner) return NOTHING
  const batch = placeAt(args, 0, WORD)
  const list = batch === null ? null : placeAt(args, batch, batch)
  const count = list === null ? null : countAt(args, list, MAX_CALLS)
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
  const count = list === null ? null : countAt(args, list, MAX_CALLS)
  if (list === null || count === null) return null
  const items = Array.from({ length: count }, (_, n) => read(list + WORD, list + WORD + n * WORD))
  return items.some((item) => item === null) ? null : items.filter((item) => item !== null)
}

/** An amount as a spend has it: `unlimited` for what tokens treat as infinite. */
export function mostOf(amount: bigint): string {
  return amount >= LEAST_INFINITE || INFINITE.includes(amount) ? UNLIMITED : amount.toString()
}

function permit2Amount(args: Buffer, at: number): string {
  return mostOf(BigInt.asUintN(160, wordAt(args, at)))
}

function allOrNone(args: Buffer, index: number): string {
  return wordAt(args, index * WORD) === 0n ? '0' : UNLIMITED
}
