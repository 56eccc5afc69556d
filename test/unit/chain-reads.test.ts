/** JSON-RPC on the wire, and what is read from contracts through it. */
import { AbiCoder, Interface } from 'ethers/abi'
import t from 'tap'
import { createChainClients } from '../../src/chain/client-set.ts'
import { createCodeLookup } from '../../src/chain/code.ts'
import {
  encodeBalanceOf,
  encodeTransfer,
  parseTransferLog,
  readTokenMetadata,
  TRANSFER_TOPIC,
} from '../../src/chain/erc20.ts'
import {
  decodeResults,
  encodeRequests,
  type RpcReader,
  type RpcRequest,
  type RpcResult,
} from '../../src/chain/json-rpc.ts'
import { readBalances } from '../../src/chain/multicall.ts'
import { readPrices } from '../../src/chain/price-feeds.ts'
import type { ValidationFailed } from '../../src/core/errors.ts'

const ALICE = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const encode = (types: string[], values: unknown[]): string => AbiCoder.defaultAbiCoder().encode(types, values)
const REVERTED: RpcResult = { ok: false, error: { kind: 'answer', code: 3, message: 'execution reverted', data: '0x' } }
const SILENCE: RpcResult = {
  ok: false,
  error: { kind: 'unavailable', reason: 'timeout', message: 'no answer in time' },
}

/** Answers each request by a function; a string stands for a value. */
function reader(answer: (request: RpcRequest) => string | RpcResult): RpcReader & { asked: RpcRequest[] } {
  const asked: RpcRequest[] = []
  const batch = async (requests: readonly RpcRequest[]): Promise<RpcResult[]> => {
    asked.push(...requests)
    return requests.map(answer).map((given) => (typeof given === 'string' ? { ok: true, value: given } : given))
  }
  return { asked, batch }
}

t.test('every request gets exactly one result, however the server answers', async (t) => {
  const requests = ['a', 'b', 'c'].map((method) => ({ method, params: [] }))
  t.equal(JSON.parse(encodeRequests(requests)).length, 3)
  t.equal(JSON.parse(encodeRequests(requests.slice(0, 1))).method, 'a', 'one request goes as an object')
  const ok = (id: number) => ({ jsonrpc: '2.0', id, result: id * 10 })
  const kinds = (body: unknown, count = 3) =>
    decodeResults(typeof body === 'string' ? body : JSON.stringify(body), count).map((result) =>
      result.ok ? result.value : result.error.kind === 'answer' ? result.error.message : result.error.reason,
    )
  t.strictSame(kinds([ok(2), ok(0), ok(1)]), [0, 10, 20], 'out of order')
  t.strictSame(kinds([ok(1), ok(1), ok(7), null, 'x']), ['invalid_response', 10, 'invalid_response'])
  t.strictSame(kinds({ id: null, error: { code: 1, message: 'no batches' } }), Array(3).fill('no batches'))
  t.strictSame(kinds([{ id: null, error: { code: 1, message: 'no batches' } }]), Array(3).fill('no batches'))
  t.strictSame(kinds([ok(0), { id: 1, error: { code: 1 } }, { id: 2, error: 'bad' }]), [
    0,
    'the node gave no reason',
    'bad',
  ])
  t.strictSame(kinds('<html>', 2), ['invalid_response', 'invalid_response'])
  t.strictSame(kinds(ok(0), 2), ['invalid_response', 'invalid_response'], 'one result cannot stand for two requests')
  t.strictSame(kinds({ id: 0, result: null }, 1), [null])
})

t.test('call data and Transfer logs of ERC-20 are what the ABI says', async (t) => {
  const erc20 = new Interface([
    'function transfer(address to, uint256 amount)',
    'function balanceOf(address owner)',
    'event Transfer(address indexed from, address indexed to, uint256 value)',
  ])
  const most = 2n ** 256n - 1n
  for (const amount of [0n, 1n, most]) {
    t.equal(encodeTransfer(ALICE, amount), erc20.encodeFunctionData('transfer', [ALICE, amount]))
    const log = erc20.encodeEventLog('Transfer', [TOKEN, ALICE, amount])
    t.strictSame(parseTransferLog(log), { from: TOKEN.toLowerCase(), to: ALICE.toLowerCase(), value: amount })
  }
  t.equal(encodeBalanceOf(ALICE), erc20.encodeFunctionData('balanceOf', [ALICE]))
  const { topics, data } = erc20.encodeEventLog('Transfer', [TOKEN, ALICE, 7n])
  t.equal(parseTransferLog({ topics: [...topics, topics[1] ?? ''], data: '0x' }), null, 'a Transfer of ERC-721')
  t.equal(parseTransferLog({ topics: topics.slice(0, 2), data }), null)
  t.equal(parseTransferLog({ topics: [TRANSFER_TOPIC, '0x1', '0x2'], data }), null)
  t.equal(parseTransferLog({ topics, data: '0x07' }), null, 'data that is no uint256')
  t.equal(parseTransferLog({ topics: [], data: '0x' }), null)
})

t.test('a token says its symbol and decimals as a string, or as the bytes32 of older tokens', async (t) => {
  const token = (symbol: string | RpcResult, name: string | RpcResult, decimals: string | RpcResult) =>
    readTokenMetadata(
      reader(({ params }) => {
        const { data } = params[0] as { data: string }
        return data === '0x95d89b41' ? symbol : data === '0x313ce567' ? decimals : name
      }),
      TOKEN,
    )
  const six = encode(['uint8'], [6])
  const text = (value: string) => encode(['string'], [value])
  const fixed = `0x${Buffer.from('MKR').toString('hex').padEnd(64, '0')}`
  t.strictSame(await token(text('USDC'), text('USD Coin'), six), { symbol: 'USDC', name: 'USD Coin', decimals: 6 })
  t.strictSame(await token(fixed, REVERTED, six), { symbol: 'MKR', name: 'MKR', decimals: 6 }, 'a name is no duty')
  t.hasStrict(await token(text('A\u0000\nB\u202e'), text(''), six), { symbol: 'AB' }, 'nothing that cannot be seen')
  t.equal((await token(text('X'.repeat(5_000)), text(''), six))?.symbol.length, 64)
  t.equal(await token('0x', '0x', '0x'), null, 'an address without code')
  t.equal(await token(REVERTED, REVERTED, REVERTED), null)
  t.equal(await token(text('USDC'), text(''), encode(['uint256'], [256])), null, 'decimals that are no uint8')
  t.equal(await token(encode(['uint256', 'uint256'], [32, 10n ** 30n]), text(''), six), null, 'a length that lies')
  await t.rejects(token(SILENCE, text(''), six), { code: 'rpc_unavailable' })
})

t.test('a price that is old, negative, zero or of an unfinished round is no price', async (t) => {
  const NOW_S = 1_800_000_000n
  const round = (answer: bigint, updatedAt: bigint, roundId = 5n, answeredIn = 5n, startedAt = updatedAt) =>
    encode(['uint80', 'int256', 'uint256', 'uint256', 'uint80'], [roundId, answer, startedAt, updatedAt, answeredIn])
  const read = async (data: string | RpcResult, decimals: string | RpcResult = encode(['uint8'], [8])) => {
    const client = reader(({ params }) => ((params[0] as { data: string }).data === '0xfeaf968c' ? data : decimals))
    const feeds = [{ symbol: 'ETH', address: TOKEN }]
    const [price] = await readPrices({
      client,
      multicall3: null,
      feeds,
      maxAgeMs: 3_600_000,
      now: () => Number(NOW_S) * 1_000,
    })
    return price
  }
  t.strictSame(await read(round(2_500_00000000n, NOW_S - 3_600n)), {
    answer: 2_500_00000000n,
    decimals: 8,
    updatedAt: 1_799_996_400,
  })
  t.equal(await read(round(2_500_00000000n, NOW_S - 3_601n)), null, 'older than the limit')
  t.equal(await read(round(-1n, NOW_S)), null)
  t.equal(await read(round(0n, NOW_S)), null)
  t.equal(await read(round(1n, 0n)), null, 'never updated')
  t.equal(await read(round(1n, NOW_S, 5n, 4n)), null, 'answered in an earlier round')
  t.equal(await read(round(1n, NOW_S, 5n, 5n, 0n)), null, 'never started')
  t.equal(await read(REVERTED), null)
  t.equal(await read('0x'), null, 'no feed there')
  t.equal(await read(round(1n, NOW_S), REVERTED), null)
  t.equal(await read(`0x${'00'.repeat(40)}`), null, 'not a round')
  await t.rejects(read(SILENCE), { code: 'rpc_unavailable' })
})

t.test('balances come one by one where there is no Multicall3, and a token that fails spoils no other', async (t) => {
  const client = reader(({ method, params }) => {
    if (method === 'eth_getBalance') return '0xde0b6b3a7640000'
    const { to } = params[0] as { to: string }
    return to === MULTICALL ? '0x' : to === TOKEN ? encode(['uint256'], [42]) : REVERTED
  })
  const queries = [
    { address: ALICE, token: null },
    { address: ALICE, token: TOKEN },
    { address: ALICE, token: ALICE },
  ]
  for (const multicall of [null, MULTICALL]) {
    t.strictSame(await readBalances(client, multicall, queries, 255), [10n ** 18n, 42n, null])
    t.equal(client.asked.at(-1)?.params[1], '0xff')
  }
  t.strictSame(await readBalances(client, null, [], 'latest'), [])
  await t.rejects(
    readBalances(
      reader(() => SILENCE),
      MULTICALL,
      queries,
      'latest',
    ),
    { code: 'rpc_unavailable' },
  )
  const pruned: RpcResult = { ok: false, error: { kind: 'answer', code: -32000, message: 'missing trie node ab' } }
  await t.rejects(
    readBalances(
      reader(() => pruned),
      MULTICALL,
      queries,
      1,
    ),
    { code: 'rpc_error', cause: pruned.error },
  )
})

t.test('contracts are remembered; accounts, delegated ones too, only for a while; memory is bounded', async (t) => {
  const code: Record<string, string> = { '0xa': '0x6001', '0xb': '0x', '0xc': `0xef0100${'11'.repeat(20)}` }
  let now = 0
  const client = reader(({ params }) => code[String(params[0])] ?? '0x')
  const lookup = createCodeLookup({ client, now: () => now, accountTtlMs: 10, maxEntries: 3 })
  t.strictSame(await lookup.haveCode(['0xA', '0xb', '0xc', '0xa']), [true, false, true, true])
  t.equal(client.asked.length, 3, 'asked once each')
  t.strictSame(await lookup.haveCode(['0xa', '0xb', '0xc']), [true, false, true])
  t.equal(client.asked.length, 3, 'and not again')
  now = 10
  await lookup.haveCode(['0xa', '0xb', '0xc'])
  t.strictSame(
    client.asked.slice(3).map(({ params }) => params[0]),
    ['0xb', '0xc'],
  )
  await lookup.haveCode(['0xd', '0xe'])
  await lookup.haveCode(['0xe', '0xd'])
  t.equal(client.asked.length, 7)
  await lookup.haveCode(['0xa'])
  t.equal(client.asked.length, 8, 'the least recently used was dropped')
  t.strictSame(await lookup.haveCode([]), [])
  await t.rejects(createCodeLookup({ client: reader(() => SILENCE), now: () => 0 }).haveCode(['0xa']), {
    code: 'rpc_unavailable',
  })
})

t.test(
  'a chain is found by network and environment, and one that is not configured by the name of its setting',
  async (t) => {
    const settings = {
      network: 'polygon',
      environment: 'testnet',
      chainId: 80002,
      rpcUrls: ['http://127.0.0.1:1'],
      confirmations: 12,
      minTipWei: 1n,
      maxFeePerGasWei: 2n,
      pollIntervalMs: 1_000,
      multicall3Address: null,
      priceFeeds: {},
      tokens: [],
    } as const
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const clients = createChainClients({ chains: [settings], timeoutMs: 1_000, now: Date.now, log })
    t.teardown(() => clients.close())
    t.equal(clients.get({ network: 'polygon', environment: 'testnet' }).settings, settings)
    t.equal(clients.byChainId(80002)?.settings, settings)
    t.equal(clients.byChainId(137), undefined)
    t.equal(clients.find({ network: 'polygon', environment: 'mainnet' }), undefined)
    const refusal = (environment: 'mainnet' | 'testnet') => {
      try {
        clients.get({ network: 'binance', environment })
      } catch (error) {
        return (error as ValidationFailed).items
      }
      return []
    }
    t.hasStrict(refusal('mainnet'), [{ field: 'network', code: 'network_not_configured' }])
    t.match(refusal('mainnet')[0]?.message, /BINANCE_RPC_URLS/)
    t.match(refusal('testnet')[0]?.message, /BINANCE_TESTNET_RPC_URLS/)
  },
)
