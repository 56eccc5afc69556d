/** From nodes to what is told: methods that a node has or lacks, proofs, and one node of three that lies in every way. */
import { createMerkleProof, createMPT } from '@ethereumjs/mpt'
import { encodeRlp, getBytes, hexlify, keccak256, toBeArray } from 'ethers'
import t from 'tap'
import { findInternal } from '../../src/activity/internal/find-internal.ts'
import { namedAddresses } from '../../src/activity/internal/named-addresses.ts'
import type { NodeReader } from '../../src/chain/agreement.ts'
import { readBalanceChanges } from '../../src/chain/balance-changes.ts'
import { createBlockTraces } from '../../src/chain/block-traces.ts'
import type { Block, BlockTransaction } from '../../src/chain/blocks.ts'
import type { RpcRequest, RpcResult } from '../../src/chain/json-rpc.ts'
import { EMPTY_ROOT } from '../../src/chain/ordered-root.ts'
import { oracleBlock } from '../support/oracle-block.ts'

const addressOf = (n: number) => `0x${n.toString(16).padStart(40, 'b')}`
const [SENDER, SAFE, WALLET, OTHER] = [1, 2, 3, 4].map(addressOf) as [string, string, string, string]
const HASH = `0x${'7'.repeat(64)}`
const MISSING: RpcResult = { ok: false, error: { kind: 'answer', code: -32601, message: 'the method does not exist' } }
const SILENT: RpcResult = { ok: false, error: { kind: 'unavailable', reason: 'timeout', message: 'no answer' } }
const GENESIS: RpcResult = { ok: false, error: { kind: 'answer', code: -32000, message: 'genesis is not traceable' } }

/** A state with one wallet, and the header over it. */
async function stateWith(balance: bigint, number: string) {
  const trie = await createMPT()
  for (const [address, wei] of [
    [WALLET, balance],
    [OTHER, 9n],
    [SAFE, 50n - balance],
  ] as const) {
    const account = encodeRlp(['0x', wei === 0n ? '0x' : hexlify(toBeArray(wei)), EMPTY_ROOT, keccak256('0x')])
    await trie.put(getBytes(keccak256(address)), getBytes(account))
  }
  const { block } = await oracleBlock({ stateRoot: hexlify(trie.root()), number, baseFeePerGas: '0x1' }, [])
  const proof = async (address: string) => ({
    accountProof: (await createMerkleProof(trie, getBytes(keccak256(address)))).map((node) => hexlify(node)),
  })
  return { header: block, proof, balance }
}
const [before, after] = [await stateWith(5n, '0x8'), await stateWith(12n, '0x9')]

const paying: BlockTransaction = {
  ...{ hash: HASH, from: SENDER, to: SAFE, nonce: 0, value: 0n, input: `0x1234${WALLET.slice(2).padStart(64, '0')}` },
  ...{
    status: 'success',
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    offer: null,
    logs: [],
    authorizations: [],
    hasBlobs: false,
  },
}
const BLOCK: Block = {
  ...{ number: 9, hash: String(after.header.hash), parentHash: String(before.header.hash), timestamp: 1 },
  ...{ baseFeePerGas: 1n, transactions: [paying] },
  income: { feeRecipient: addressOf(9), withdrawals: [], logsNative: false },
}

const moved = (to: string, value: bigint) => ({ type: 'CALL', from: SAFE, to, value: `0x${value.toString(16)}` })
const traceOf = (...calls: object[]) => [
  { txHash: HASH, result: { type: 'CALL', from: SENDER, to: SAFE, value: '0x0', calls } },
]
const HONEST = traceOf(moved(WALLET, 7n))

type Answers = Readonly<Record<string, (params: readonly unknown[]) => RpcResult | Promise<RpcResult>>>
const ok = (value: unknown): RpcResult => ({ ok: true, value })
const TRACING = (trace: unknown): Answers => ({
  debug_traceBlockByNumber: ([block]) => (block === '0x0' ? GENESIS : ok(trace)),
})
const PROVING: Answers = {
  eth_getBlockByHash: ([hash]) => ok([before, after].find(({ header }) => header.hash === hash)?.header ?? null),
  async eth_getProof([address, , at]) {
    const state = (at as { blockHash: string }).blockHash === before.header.hash ? before : after
    return ok(await state.proof(String(address)))
  },
}

function node(host: string, answers: Answers) {
  const asked: string[] = []
  const answer = ({ method, params }: RpcRequest) => {
    asked.push(method)
    return answers[method]?.(params) ?? MISSING
  }
  return { host, asked, doubt: () => undefined, batch: (all: readonly RpcRequest[]) => Promise.all(all.map(answer)) }
}

async function tell(nodes: readonly NodeReader[], needed: number) {
  const refused: string[] = []
  let time = 0
  const reads = { nodes: () => nodes, quorum: { needed, nodes: nodes.length } }
  const agreed = { batch: async (all: readonly RpcRequest[]) => all.map(() => MISSING) }
  const traces = createBlockTraces(reads, {
    now: () => time++,
    onRefused: (host, why) => refused.push(`${host}: ${why}`),
  })
  const [found] = await findInternal(
    {
      ...{ traces, quorum: needed, paysTips: true },
      changesOf: (block, addresses) => readBalanceChanges({ ...reads, agreed }, block, addresses),
      walletsAmong: async (some) => new Set([WALLET, OTHER].filter((address) => some.has(address))),
    },
    [BLOCK],
  )
  const told = [...(found?.told ?? [])].flatMap(([address, { transfers }]) =>
    transfers.map(({ hash, counterparty, amount, attribution }) => ({
      address,
      hash,
      counterparty,
      amount,
      attribution,
    })),
  )
  return { told, refused, doubted: [...(found?.told.values() ?? [])].flatMap((one) => one.refuted), traces }
}
const paid = { address: WALLET, hash: HASH, counterparty: SAFE, amount: 7n }

t.test('one node: its trace is believed, without a proof', async (t) => {
  const only = node('a', { ...TRACING(HONEST), ...PROVING })
  const { told, traces } = await tell([only], 1)
  t.strictSame(told, [{ ...paid, attribution: 'agreed' }])
  t.notOk(only.asked.includes('eth_getProof'))
  t.equal(await traces.state(), 'a: debug_traceBlockByNumber')
})

t.test('three nodes: one trace and the proof, whoever has them', async (t) => {
  const proving = node('c', PROVING)
  const { told } = await tell([node('a', TRACING(HONEST)), node('b', {}), proving], 2)
  t.strictSame(told, [{ ...paid, attribution: 'hint' }])
})

t.test('three nodes without proofs: what two of them trace alike', async (t) => {
  const [a, b, c] = [node('a', TRACING(HONEST)), node('b', {}), node('c', TRACING(HONEST))]
  t.strictSame((await tell([a, b, c], 2)).told, [{ ...paid, attribution: 'agreed' }])
  t.equal(a.asked.filter((method) => method.startsWith('debug_')).length, 2, 'looked at and asked once')
  t.strictSame((await tell([a, b], 2)).told, [], 'one of them alone')
})

t.test('one liar of three, asked first, neither invents nor changes an amount', async (t) => {
  const lies = {
    more: traceOf(moved(WALLET, 8n)),
    'to another wallet': traceOf(moved(OTHER, 7n), moved(WALLET, 7n)),
    'in and out': traceOf(moved(WALLET, 1_000n), { ...moved(SAFE, 993n), from: WALLET }),
    less: traceOf(moved(WALLET, 1n)),
  }
  for (const [name, lie] of Object.entries(lies)) {
    const nodes = [node('liar', TRACING(lie)), node('b', { ...PROVING }), node('c', PROVING)]
    const { told, doubted } = await tell(nodes, 2)
    t.strictSame(
      told.map(({ address, amount }) => [address, amount]),
      [[WALLET, 7n]],
      name,
    )
    t.ok(doubted.includes('liar') || name === 'in and out', `${name}: refuted`)
  }
})

t.test('a liar that forges proofs too is not believed', async (t) => {
  const forged: Answers = {
    ...PROVING,
    eth_getBlockByHash: ([hash]) => ok({ ...after.header, hash, stateRoot: `0x${'00'.repeat(32)}` }),
  }
  const nodes = [node('liar', { ...TRACING(traceOf(moved(WALLET, 8n))), ...forged }), node('b', {}), node('c', {})]
  t.strictSame((await tell(nodes, 2)).told, [])
})

t.test('without traces the balance of whom call data names is compared', async (t) => {
  const nodes = [node('a', {}), node('b', PROVING), node('c', {})]
  const { told, traces } = await tell(nodes, 2)
  t.strictSame(told, [{ ...paid, counterparty: null, attribution: 'hint' }])
  t.equal(await traces.state(), 'a: none, b: none, c: none')
})

t.test('a node that lacks traces is not asked for them again, and one that is slow is left alone', async (t) => {
  const lacking = node('a', {})
  const slow = node('b', { ...TRACING(HONEST), debug_traceBlockByNumber: ([at]) => (at === '0x0' ? GENESIS : SILENT) })
  const refused: string[] = []
  let time = 0
  const nodes = () => [lacking, slow]
  const traces = createBlockTraces({ nodes }, { now: () => time, onRefused: (host) => refused.push(host) })
  for (let i = 0; i < 3; i++) t.strictSame(await traces.read(BLOCK, 1), [])
  t.equal(lacking.asked.length, 2, 'both methods once')
  t.strictSame(refused, ['b'])
  time = 31_000
  await traces.read(BLOCK, 1)
  t.strictSame(refused, ['b', 'b'], 'tried again')
  time = 700_000
  await traces.read(BLOCK, 1)
  t.equal(lacking.asked.length, 4, 'looked at again')
})

t.test('a node that is silent when it is looked at counts neither as with nor as without traces', async (t) => {
  const quiet = node('a', { debug_traceBlockByNumber: () => SILENT, trace_block: () => SILENT })
  const traces = createBlockTraces({ nodes: () => [quiet] }, { now: () => 0, onRefused: () => undefined })
  await traces.read(BLOCK, 1)
  await traces.read(BLOCK, 1)
  t.equal(quiet.asked.length, 4)
})

t.test('addresses are found as arguments, inside of arguments and packed', (t) => {
  const digits = '00a1b2c3d4e5f60718293a4b5c6d7e8f90a1b200'.slice(0, 40)
  const inputs = [
    `0xa9059cbb${digits.padStart(64, '0')}${'5'.padStart(64, '0')}`,
    `0x${'ab'.repeat(10)}a9059cbb${digits.padStart(64, '0')}`,
    `0x8d80ff0a00${digits}${'de0b6b3a7640000'.padStart(64, '0')}${'0'.repeat(64)}`,
  ]
  for (const input of inputs) {
    const named = namedAddresses({ transactions: [{ ...paying, input }] })
    t.ok(named.has(`0x${digits}`), input)
    t.ok(named.size < 20)
  }
  t.equal(namedAddresses({ transactions: [{ ...paying, status: 'reverted' }] }).size, 0)
  t.end()
})
