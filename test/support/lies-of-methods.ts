/**
 * The lies about each method that the service calls, by the type of its result. A method that the service calls and that is
 * not here is one that no test lies about.
 */
import { toQuantity } from '../../src/chain/hex.ts'
import type { Fields } from './forged-chain.ts'
import type { Ask, Call, Lie, Said } from './lying-proxies.ts'

/** Whom the lies are about. `ours`: the wallets of the service, in lower case. */
export type Targets = {
  readonly ours: readonly string[]
  readonly token: string
}

type Alter = (result: unknown, call: Call, ask: Ask) => unknown
type Alterations = Readonly<Record<string, Alter>>

const HUGE = `0x${'ff'.repeat(32)}`
const NO_HASH = `0x${'ab'.repeat(32)}`
const FAR = 1_000
export const THOUSAND_ETHER = 10n ** 21n
const MANY_TOKENS = 5_000_000n * 10n ** 6n
/** `Transfer(address,address,uint256)` */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const number = (value: unknown): bigint => BigInt(String(value ?? 0))
const quantity = (value: bigint): string => `0x${value.toString(16)}`
const word = (value: bigint): string => value.toString(16).padStart(64, '0')
const padded = (address: string): string => `0x${address.slice(2).padStart(64, '0')}`
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
function set(fields: Fields): Alter {
  return (result) => (isObject(result) ? { ...result, ...fields } : result)
}
function always(value: unknown): Alter {
  return () => value
}
const times = (factor: bigint) => (value: unknown) => quantity(number(value) * factor)
const plus =
  (more: bigint): Alter =>
  (result) =>
    quantity(number(result) + more)

/** A token's transfer to a wallet, in the place of a log. */
export function forgedLog({ ours, token }: Targets, place: Fields): Fields {
  const [stranger, payee] = [padded(`0x${'5e'.repeat(20)}`), padded(ours[0] ?? '')]
  const { blockHash, blockNumber, transactionHash, transactionIndex } = place
  return {
    address: token.toLowerCase(),
    topics: [TRANSFER, stranger, payee],
    data: `0x${word(MANY_TOKENS)}`,
    ...{ blockHash, blockNumber, transactionHash, transactionIndex, logIndex: '0x0', removed: false },
  }
}

const another = (tag: (number: number, head: number) => number): Alter => {
  return async (result, { params }, ask) => {
    if (!isObject(result)) return result
    const head = Number(await ask('eth_blockNumber'))
    return ask('eth_getBlockByNumber', toQuantity(Math.max(0, tag(Number(result.number), head))), params[1])
  }
}

const ofTag =
  (wanted: (tag: unknown) => boolean, alter: Alter): Alter =>
  (result, call, ask) =>
    wanted(call.params[0]) ? alter(result, call, ask) : result
const isTag = (tag: unknown) => !String(tag).startsWith('0x')

function onReceipts(alter: (receipt: Fields) => Fields): Alter {
  return (result) => (Array.isArray(result) ? list(result).map(alter) : isObject(result) ? alter(result) : result)
}

function receipts(targets: Targets): Alterations {
  const flip = (receipt: Fields) => ({ ...receipt, status: receipt.status === '0x1' ? '0x0' : '0x1', logs: [] })
  return {
    failed: onReceipts(flip),
    'of another block': onReceipts((receipt) => ({ ...receipt, blockHash: NO_HASH })),
    'of another height': onReceipts((receipt) => ({
      ...receipt,
      blockNumber: quantity(number(receipt.blockNumber) + 1n),
    })),
    'forged logs': onReceipts((receipt) => ({
      ...receipt,
      logs: [...list(receipt.logs), forgedLog(targets, receipt)],
    })),
    'without logs': onReceipts((receipt) => ({ ...receipt, logs: [] })),
    'dear gas': onReceipts((receipt) => ({
      ...receipt,
      gasUsed: times(1_000n)(receipt.gasUsed),
      effectiveGasPrice: times(1_000n)(receipt.effectiveGasPrice),
    })),
  }
}

function blocks({ ours }: Targets): Alterations {
  const sent = (alter: (transactions: readonly Fields[]) => readonly unknown[]): Alter => {
    return (result) =>
      isObject(result) ? { ...result, transactions: alter(result.transactions as readonly Fields[]) } : result
  }
  return {
    'head higher': ofTag(isTag, (result) =>
      isObject(result) ? { ...result, number: quantity(number(result.number) + BigInt(FAR)) } : result,
    ),
    'head lower': ofTag(
      isTag,
      another((at) => at - FAR),
    ),
    'head a little lower': ofTag(
      isTag,
      another((at) => at - 3),
    ),
    'finalized is the newest': ofTag(
      (tag) => tag === 'finalized',
      another((_at, head) => head),
    ),
    'finalized is the first': ofTag(
      (tag) => tag === 'finalized',
      another(() => 0),
    ),
    'another block 0': ofTag((tag) => tag === '0x0', set({ hash: NO_HASH })),
    'only block 0 is the same': ofTag((tag) => tag !== '0x0', set({ hash: NO_HASH })),
    'another parent': set({ parentHash: NO_HASH }),
    'the block before': ofTag(
      (tag) => !isTag(tag),
      another((at) => at - 1),
    ),
    'no past blocks': ofTag((tag) => !isTag(tag), always(null)),
    'time in the future': set({ timestamp: quantity(BigInt(Math.floor(Date.now() / 1_000) + 86_400)) }),
    'base fee × 1000': (result) =>
      isObject(result) ? { ...result, baseFeePerGas: times(1_000n)(result.baseFeePerGas) } : result,
    'base fee 0': set({ baseFeePerGas: '0x0' }),
    'without transactions': sent(() => []),
    'from our wallet': sent((all) => all.map((raw) => (isObject(raw) ? { ...raw, from: ours[0] } : raw))),
    'to our wallet': sent((all) =>
      all.map((raw) => (isObject(raw) ? { ...raw, to: ours[0], value: quantity(THOUSAND_ETHER) } : raw)),
    ),
    'other hashes': sent((all) => all.map((raw) => (isObject(raw) ? { ...raw, hash: NO_HASH } : NO_HASH))),
  }
}

const counts: Alterations = {
  '+1': plus(1n),
  '+200': plus(200n),
  '2^53': always(quantity(2n ** 53n)),
  none: always('0x0'),
  'one less': (result) => quantity(number(result) === 0n ? 0n : number(result) - 1n),
}

const amounts: Alterations = {
  none: always('0x0'),
  'a thousand more': plus(THOUSAND_ETHER),
  huge: always(HUGE),
}

const fees = (factor: bigint): Alter => {
  const all = (value: unknown) => (value as readonly unknown[]).map(times(factor))
  return (result) =>
    isObject(result) && Array.isArray(result.baseFeePerGas)
      ? {
          ...result,
          baseFeePerGas: all(result.baseFeePerGas),
          ...(Array.isArray(result.reward) ? { reward: (result.reward as unknown[]).map(all) } : {}),
        }
      : result
}

const simulated =
  (alter: (call: Fields) => Fields): Alter =>
  (result) =>
    list(result).map((block) => ({ ...block, calls: list(block.calls).map(alter) }))

const FAILED_CALL = { status: '0x0', logs: [], error: { code: 3, message: 'execution reverted', data: '0x' } }

/** By method: what its result is altered to. */
function alterations(targets: Targets): Readonly<Record<string, Alterations>> {
  const heads = { 'head higher': plus(BigInt(FAR)), 'head lower': (result: unknown) => lower(result, FAR) }
  const trace = {
    'of nobody': set({ from: NO_HASH.slice(0, 42), to: NO_HASH.slice(0, 42), calls: [], error: 'reverted' }),
    'without error': set({ error: undefined, calls: [] }),
  }
  return {
    eth_chainId: { 'another chain': always('0x1'), huge: always(HUGE) },
    eth_blockNumber: { ...heads, huge: always(quantity(2n ** 53n)), 'one more': plus(1n) },
    eth_getBlockByNumber: blocks(targets),
    eth_getBlockByHash: blocks(targets),
    eth_getBlockTransactionCountByNumber: { none: always('0x0'), '+1': plus(1n), '2^53': always(quantity(2n ** 53n)) },
    eth_getBlockReceipts: { ...receipts(targets), missing: (result) => list(result).slice(1), none: always([]) },
    eth_getTransactionReceipt: receipts(targets),
    eth_getTransactionByHash: {
      'in no block': set({ blockHash: null, blockNumber: null, transactionIndex: null }),
      'of another sender': set({ from: `0x${'5e'.repeat(20)}` }),
      'other nonce': set({ nonce: '0x7' }),
    },
    eth_getTransactionCount: counts,
    eth_getBalance: amounts,
    eth_getCode: {
      none: always('0x'),
      'any code': always('0x60016000f3'),
      delegated: always(`0xef0100${'5e'.repeat(20)}`),
    },
    eth_call: {
      nothing: always('0x'),
      zeros: (result) => `0x${'00'.repeat(Math.max(0, String(result).length / 2 - 1))}`,
      'every bit': (result) => `0x${'ff'.repeat(Math.max(0, String(result).length / 2 - 1))}`,
      'five million more': (result) =>
        /^0x[0-9a-f]{64}$/.test(String(result)) ? `0x${word((number(result) + MANY_TOKENS) % 2n ** 256n)}` : result,
      'more in each answer of a multicall': (result) => inEachAnswer(String(result), (word) => word + THOUSAND_ETHER),
      'nothing in each answer of a multicall': (result) => inEachAnswer(String(result), () => 0n),
      'another number': (result) => String(result).replace(/[0-9a-f]$/, (digit) => (digit === '1' ? '2' : '1')),
    },
    eth_estimateGas: {
      none: always('0x0'),
      plain: always('0x5208'),
      'too little': always('0x5300'),
      huge: always('0x1000000'),
    },
    eth_feeHistory: { '× 1000': fees(1_000n), none: fees(0n), empty: set({ baseFeePerGas: [], reward: [] }) },
    eth_gasPrice: { '× 1000': (result) => times(1_000n)(result), none: always('0x0') },
    eth_maxPriorityFeePerGas: { '× 1000': (result) => times(1_000n)(result), none: always('0x0') },
    eth_simulateV1: {
      'all fail': simulated((call) => ({ ...call, ...FAILED_CALL })),
      'all succeed': simulated(({ error: _error, ...call }) => ({ ...call, status: '0x1' })),
      'nothing moves': simulated((call) => ({ ...call, logs: [], returnData: '0x' })),
      none: always([]),
    },
    eth_config: {
      'of the future': set({ next: null, current: { activationTime: 0, precompiles: {} } }),
      empty: always({}),
    },
    eth_getProof: { 'no balance': set({ balance: '0x0', nonce: '0x0' }), 'a nonce more': set({ nonce: '0x7' }) },
    debug_traceTransaction: trace,
    debug_traceCall: trace,
  }
}

/** A multicall gives `(bool, bytes)[]`: only answers of one word are altered. */
function inEachAnswer(result: string, alter: (answer: bigint) => bigint): string {
  const words = result.slice(2).match(/.{64}/g) ?? []
  const isAt = (index: number, value: bigint) => words[index] === word(value)
  const altered = words.map((one, i) =>
    isAt(i - 1, 32n) && isAt(i - 2, 64n) ? word(alter(number(`0x${one}`)) % 2n ** 256n) : one,
  )
  return `0x${altered.join('')}`
}

const lower = (result: unknown, by: number): string => toQuantity(Math.max(0, Number(result) - by))

const REFUSALS = [
  'nonce too low: next nonce 9, tx nonce 0',
  'already known',
  'insufficient funds for gas * price + value',
  'invalid sender',
  'intrinsic gas too low',
  'transaction underpriced',
]

/** About bytes, which the node keeps to itself. */
function sendingLies(): Lie[] {
  const methods = ['eth_sendRawTransaction']
  const lie = (name: string, said: (call: Call) => Said): Lie => ({
    name: `${methods[0]}/${name}`,
    methods,
    keeps: true,
    tell: said,
  })
  return [
    lie('swallowed', () => ({ result: NO_HASH })),
    ...REFUSALS.map((message) => lie(message.split(':')[0] ?? '', () => ({ error: { code: -32000, message } }))),
  ]
}

/** Every method has these too. */
const ANY: Readonly<Record<string, Said>> = {
  null: { result: null },
  nonsense: { result: 'nonsense' },
  error: { error: { code: -32000, message: 'the moon is full' } },
  reverts: { error: { code: 3, message: 'execution reverted', data: '0x' } },
}

/** All lies about single methods. */
export function liesOfMethods(targets: Targets): readonly Lie[] {
  const table = alterations(targets)
  const altering = Object.entries(table).flatMap(([method, own]) =>
    Object.entries(own).map(
      ([name, alter]): Lie => ({
        name: `${method}/${name}`,
        methods: [method],
        tell: async (call, honest, ask) =>
          'error' in honest ? null : { result: await alter(honest.result, call, ask) },
      }),
    ),
  )
  const general = [...Object.keys(table), 'eth_sendRawTransaction'].flatMap((method) =>
    Object.entries(ANY).map(
      ([name, said]): Lie => ({ name: `${method}/${name}`, methods: [method], tell: () => said }),
    ),
  )
  return [...altering, ...sendingLies(), ...general]
}
