/** JSON-RPC encoding, and contract reads with it. */
import { AbiCoder, Interface } from 'ethers/abi'
import t from 'tap'
import { readPrices } from '../../src/balances/price-feeds.ts'
import { createChainClients } from '../../src/chain/client-set.ts'
import { createCodeLookup } from '../../src/chain/code.ts'
import { encodeBalanceOf, encodeTransfer, parseTransferLog, TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import {
  decodeResults,
  encodeRequests,
  type RpcReader,
  type RpcRequest,
  type RpcResult,
} from '../../src/chain/json-rpc.ts'
import { readNativeBalances } from '../../src/chain/multicall.ts'
import { describeToken } from '../../src/chain/token-metadata.ts'
import { readTokens } from '../../src/chain/token-reads.ts'
import type { ValidationFailed } from '../../src/core/errors.ts'
import { matchExactly } from '../support/match-exactly.ts'

const ALICE = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const encode = (types: string[], values: unknown[]): string => AbiCoder.defaultAbiCoder().encode(types, values)
const REVERTED: RpcResult = { ok: false, error: { kind: 'answer', code: 3, message: 'execution reverted', data: '0x' } }
const SILENCE: RpcResult = {
  ok: false,
  error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' },
}

const answered = (code: number, message: string): RpcResult => ({ ok: false, error: { kind: 'answer', code, message } })
const OUT_OF_GAS = answered(-32000, 'out of gas')
const PRUNED = answered(-32000, 'missing trie node ab')
const UNKNOWN_CALL = answered(-32602, "missing field 'to'")
const TOO_LARGE: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'too_large', message: 'too large' } }

/** Answers each request with a function; a string stands for a value. */
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
  t.equal(JSON.parse(encodeRequests(requests.slice(0, 1))).method, 'a', 'a single request is sent as an object')
  const ok = (id: number) => ({ jsonrpc: '2.0', id, result: id * 10 })
  const kinds = (body: unknown, count = 3) =>
    decodeResults(typeof body === 'string' ? body : JSON.stringify(body), count).map((result) =>
      result.ok ? result.value : result.error.kind === 'answer' ? result.error.message : result.error.reason,
    )
  t.strictSame(kinds([ok(2), ok(0), ok(1)]), [0, 10, 20], 'results out of order are matched by id')
  t.strictSame(kinds([ok(1), ok(1), ok(7), null, 'x']), ['invalid_response', 10, 'invalid_response'])
  t.strictSame(kinds({ id: null, error: { code: 1, message: 'no batches' } }), Array(3).fill('no batches'))
  t.strictSame(kinds([{ id: null, error: { code: 1, message: 'no batches' } }]), Array(3).fill('no batches'))
  t.strictSame(kinds([ok(0), { id: 1, error: { code: 1 } }, { id: 2, error: 'bad' }]), [
    0,
    'the node returned no reason',
    'bad',
  ])
  t.strictSame(kinds('<html>', 2), ['invalid_response', 'invalid_response'])
  t.strictSame(kinds(ok(0), 2), ['invalid_response', 'invalid_response'], 'one result does not answer two requests')
  t.strictSame(kinds({ id: 0, result: null }, 1), [null])
})

t.test('call data and Transfer logs of ERC-20 are encoded as the ABI defines', async (t) => {
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
  t.equal(parseTransferLog({ topics: [...topics, topics[1] ?? ''], data: '0x' }), null, 'an ERC-721 log is not parsed')
  t.equal(parseTransferLog({ topics: topics.slice(0, 2), data }), null)
  t.equal(parseTransferLog({ topics: [TRANSFER_TOPIC, '0x1', '0x2'], data }), null)
  t.equal(parseTransferLog({ topics, data: '0x07' }), null, 'a log whose data is no uint256 is not parsed')
  t.equal(parseTransferLog({ topics: [], data: '0x' }), null)
})

/** TokenReads.sol's result for one read. @param outcome 0 not tried, 1 failed, 2 answered */
const told = (outcome: bigint, bytes: bigint, gas: bigint, balance = 0n) =>
  encode(['uint256', 'uint256'], [(outcome << 248n) | (bytes << 64n) | gas, balance]).slice(2)

t.test('the symbol of a token is read as a string, or as the bytes32 of older tokens', async (t) => {
  const ask = async (symbol: string | RpcResult, name: string | RpcResult, decimals: string | RpcResult) =>
    describeToken(
      reader(({ params }) => {
        const { to, data } = params[0] as { to?: string; data: string }
        if (to === undefined) return `0x${told(2n, 32n, 3_000n, 5n)}`
        return data === '0x95d89b41' ? symbol : data === '0x313ce567' ? decimals : name
      }),
      TOKEN,
    )
  const token = async (...answers: Parameters<typeof ask>) => {
    const described = await ask(...answers)
    return 'token' in described ? described.token : described.flaw
  }
  const six = encode(['uint8'], [6])
  const text = (value: string) => encode(['string'], [value])
  const fixed = `0x${Buffer.from('MKR').toString('hex').padEnd(64, '0')}`
  t.strictSame(await token(text('USDC'), text('USD Coin'), six), { symbol: 'USDC', name: 'USD Coin', decimals: 6 })
  t.strictSame(await token(fixed, REVERTED, six), { symbol: 'MKR', name: 'MKR', decimals: 6 }, 'the symbol is the name')
  t.hasStrict(
    await token(text('A\u0000\nB\u202e\u2028'), text(''), six),
    { symbol: 'AB' },
    'invisible characters are removed from the symbol',
  )
  t.hasStrict(await token(text('e\u0301'), text('x'.repeat(300)), six), { symbol: '\u00e9', name: 'x'.repeat(64) })
  const flaws: [answers: Parameters<typeof ask>, flaw: RegExp][] = [
    [[text('X'.repeat(65)), text(''), six], /^its symbol\(\) is longer than 64 bytes$/],
    [[text('X'.repeat(10_000)), text(''), six], /^its symbol\(\) returns more than 1024 bytes$/],
    [[OUT_OF_GAS, text(''), six], /^its symbol\(\) uses more than 500000 gas$/],
    [['0x', '0x', '0x'], /^its symbol\(\) does not return what ERC-20 requires, or the contract does not exist$/],
    [[text('\u202e'), text(''), six], /^its symbol\(\) does not return/],
    [[REVERTED, REVERTED, REVERTED], /^its symbol\(\) does not return/],
    [[text('USDC'), text(''), encode(['uint256'], [78])], /^its decimals\(\) is above 77$/],
    [[text('USDC'), text(''), OUT_OF_GAS], /^its decimals\(\) uses more than 500000 gas$/],
    [[encode(['uint256', 'uint256'], [32, 10n ** 30n]), text(''), six], /^its symbol\(\) does not return/],
  ]
  for (const [answers, flaw] of flaws) t.match(await token(...answers), flaw)
  await t.rejects(token(SILENCE, text(''), six), { code: 'rpc_unavailable' })
})

t.test('a price that is old, negative, zero or of an unfinished round is not used', async (t) => {
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
  t.equal(await read(round(2_500_00000000n, NOW_S - 3_601n)), null, 'a price older than the limit is not used')
  t.equal(await read(round(-1n, NOW_S)), null)
  t.equal(await read(round(0n, NOW_S)), null)
  t.equal(await read(round(1n, 0n)), null, 'a round that was never updated is not used')
  t.equal(await read(round(1n, NOW_S, 5n, 4n)), null, 'a price answered in an earlier round is not used')
  t.equal(await read(round(1n, NOW_S, 5n, 5n, 0n)), null, 'a round that never started is not used')
  t.equal(await read(REVERTED), null)
  t.equal(await read('0x'), null, 'an address without a feed has no price')
  t.equal(await read(round(1n, NOW_S), REVERTED), null)
  t.equal(await read(`0x${'00'.repeat(40)}`), null, 'an answer of zeros has no price')
  await t.rejects(read(SILENCE), { code: 'rpc_unavailable' })
})

t.test('native balances are read one by one where there is no Multicall3', async (t) => {
  const client = reader(({ method }) => (method === 'eth_getBalance' ? '0xde0b6b3a7640000' : '0x'))
  for (const multicall of [null, MULTICALL]) {
    t.strictSame(await readNativeBalances(client, multicall, [ALICE, TOKEN], 255), [10n ** 18n, 10n ** 18n])
    t.equal(client.asked.at(-1)?.params[1], '0xff')
  }
  t.strictSame(await readNativeBalances(client, null, [], 'latest'), [])
  const read = (result: RpcResult) =>
    readNativeBalances(
      reader(() => result),
      MULTICALL,
      [ALICE],
      1,
    )
  await t.rejects(read(SILENCE), { code: 'rpc_unavailable' })
  await t.rejects(read(PRUNED), { code: 'rpc_error', cause: PRUNED.ok ? null : PRUNED.error })
})

t.test('a harmful token is read once, and what it left no gas for is read in another call', async (t) => {
  const [good, greedy] = [TOKEN, MULTICALL]
  const reads = [greedy, greedy, good, good].map((token) => ({ token, owner: ALICE }))
  const client = reader(({ params }) => {
    const { data } = params[0] as { data: string }
    const count = Number(BigInt(`0x${data.slice(-64)}`))
    if (count === 2) return `0x${told(2n, 32n, 3_000n, 7n).repeat(2)}`
    return `0x${told(1n, 0n, 500_100n)}${told(0n, 0n, 0n).repeat(count - 1)}`
  })
  const gas = { failure: 'gas' }
  t.strictSame(await readTokens(client, reads, 'latest'), [gas, gas, { balance: 7n }, { balance: 7n }])
  t.equal(client.asked.length, 2)
  for (const asked of client.asked)
    matchExactly(t, asked, { method: /^eth_call$/, params: [{ gas: '0xf42400', to: undefined }, 'latest'] })
})

t.test(
  'balance answers that are empty, too long or missing are distinguished, and without Multicall3 read one by one',
  async (t) => {
    const read = async (answer: string | RpcResult, alone: string | RpcResult = SILENCE) => {
      const client = reader(({ params }) => ((params[0] as { to?: string }).to === undefined ? answer : alone))
      return (await readTokens(client, [{ token: TOKEN, owner: ALICE }], 'latest'))[0]
    }
    t.strictSame(await read(`0x${told(2n, 32n, 3_000n, 7n)}`), { balance: 7n })
    t.strictSame(await read(`0x${told(2n, 64n, 3_000n, 7n)}`), { balance: 7n }, 'padding after the balance is allowed')
    t.strictSame(await read(`0x${told(2n, 4_194_304n, 400_000n)}`), { failure: 'size' })
    t.strictSame(await read(`0x${told(2n, 0n, 100n)}`), { failure: 'none' }, 'an empty answer means no contract')
    t.strictSame(await read(`0x${told(1n, 100n, 3_000n)}`), { failure: 'none' }, 'a reverted call has no balance')
    t.strictSame(await read(`0x${told(1n, 0n, 500_100n)}`), { failure: 'gas' })
    t.strictSame(await read(SILENCE), { failure: 'unread' })
    for (const refused of [REVERTED, '0x', UNKNOWN_CALL]) {
      t.strictSame(await read(refused, encode(['uint256'], [7])), { balance: 7n })
      t.strictSame(await read(refused, REVERTED), { failure: 'none' })
      t.strictSame(await read(refused, '0x'), { failure: 'none' })
      t.strictSame(await read(refused, OUT_OF_GAS), { failure: 'gas' })
      t.strictSame(await read(refused, `0x${'00'.repeat(2_000)}`), { failure: 'size' })
      t.strictSame(await read(refused, TOO_LARGE), { failure: 'size' })
      t.strictSame(await read(refused), { failure: 'unread' })
    }
    await t.rejects(read(PRUNED), { code: 'rpc_error' })
  },
)

t.test(
  'contracts are cached longer than accounts, delegated ones too, and not for ever; the cache is bounded',
  async (t) => {
    const code: Record<string, string> = { '0xa': '0x6001', '0xb': '0x', '0xc': `0xef0100${'11'.repeat(20)}` }
    let now = 0
    const client = reader(({ params }) => code[String(params[0])] ?? '0x')
    const lookup = createCodeLookup({ client, now: () => now, accountTtlMs: 10, contractTtlMs: 100, maxEntries: 3 })
    t.strictSame(await lookup.haveCode(['0xA', '0xb', '0xc', '0xa']), [true, false, true, true])
    t.equal(client.asked.length, 3, 'each contract is read once')
    t.strictSame(await lookup.haveCode(['0xa', '0xb', '0xc']), [true, false, true])
    t.equal(client.asked.length, 3, 'a cached contract is not read again')
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
    t.equal(client.asked.length, 8, 'the cache drops the least recently used entry')
    code['0xa'] = '0x'
    t.strictSame(await lookup.haveCode(['0xa']), [true])
    now = 110
    t.strictSame(await lookup.haveCode(['0xa']), [false], 'a contract that a reorg removed')
    t.strictSame(await lookup.haveCode([]), [])
    await t.rejects(createCodeLookup({ client: reader(() => SILENCE), now: () => 0 }).haveCode(['0xa']), {
      code: 'rpc_unavailable',
    })
  },
)

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
      maxTipWei: 1_000_000_000_000n,
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
    t.equal(refusal('mainnet').length, 1)
    t.hasStrict(refusal('mainnet')[0], { field: 'network', code: 'network_not_configured' })
    t.match(refusal('mainnet')[0]?.message, /BINANCE_RPC_URLS/)
    t.match(refusal('testnet')[0]?.message, /BINANCE_TESTNET_RPC_URLS/)
  },
)
