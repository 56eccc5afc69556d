/**
 * Contracts of seven kinds pay wallets on a real node; logs aside, each source finds the same: both kinds of traces, and
 * balances proven under the state roots of its headers.
 */
import t, { type Test } from 'tap'
import { findInternal, type InternalSources } from '../../src/activity/internal/find-internal.ts'
import { readBalanceChanges } from '../../src/chain/balance-changes.ts'
import { createBlockTraces } from '../../src/chain/block-traces.ts'
import { type Block, readBlocks } from '../../src/chain/blocks.ts'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'

const [ANNA, BERT] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as [string, string]
const WALLETS = new Set([ANNA, BERT])
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Sends wei to an address: CALL without data. */
const pay = (to: string, wei: number) =>
  `6000600060006000${'61'}${wei.toString(16).padStart(4, '0')}73${to.slice(2)}5af150`
const destroy = (to: string) => `73${to.slice(2)}ff`
const REVERT = '60006000fd'
/** Creates a contract with a value that destroys itself at once: the last 22 bytes of a word are its code. */
const createFor = (to: string, wei: number) =>
  `75${destroy(to)}6000526016600a61${wei.toString(16).padStart(4, '0')}f050`
const delegate = (to: string) => `600060006000600073${to.slice(2)}5af450`

/** Returns the code: 12 bytes, and the code behind them. */
function deployment(code: string): string {
  const size = (code.length / 2).toString(16).padStart(4, '0')
  return `0x61${size}80600c6000396000f3${code}`
}

/** As if it had none of these methods. */
function without(reader: RpcReader, methods: readonly string[]): RpcReader {
  const missing = { ok: false, error: { kind: 'answer', code: -32601, message: 'the method does not exist' } } as const
  return {
    async batch(requests) {
      const asked = requests.filter(({ method }) => !methods.includes(method))
      const results = new Map((await reader.batch(asked)).map((result, i) => [asked[i], result] as const))
      return requests.map((request) => results.get(request) ?? missing)
    },
  }
}

/** A block with payments of each kind, and what of them internal transfers are, as text. */
async function payInOneBlock(t: Test) {
  const anvil = await withAnvil(t, { mining: 'call' })
  const client = createRpcClient({
    ...{ urls: [anvil.url], chainId: anvil.chainId, timeoutMs: 10_000, now: () => performance.now(), log: LOG },
  })
  t.after(() => client.close())
  const rpc = (method: string, ...params: unknown[]) => callRpc(anvil.url, method, params)
  const [sender] = (await rpc('eth_accounts')) as [string]
  const send = async (to: string | null, data: string, wei = 0) => {
    const fields = { from: sender, data, value: `0x${wei.toString(16)}`, gas: '0x7a120' }
    return (await rpc('eth_sendTransaction', to === null ? fields : { ...fields, to })) as string
  }
  const deploy = async (code: string) => {
    const hash = await send(null, deployment(code))
    await rpc('evm_mine')
    const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string; status: string }
    t.equal(receipt.status, '0x1')
    return receipt.contractAddress
  }
  const library = await deploy(pay(ANNA, 7))
  const failing = await deploy(`${pay(ANNA, 9)}${REVERT}`)
  const payers = {
    one: await deploy(pay(ANNA, 5)),
    several: await deploy(pay(ANNA, 1) + pay(BERT, 2) + pay(ANNA, 3)),
    delegating: await deploy(delegate(library)),
    creating: await deploy(createFor(BERT, 11)),
    destroying: await deploy(destroy(ANNA)),
    'failing inside': await deploy(pay(failing, 9) + pay(BERT, 4)),
    nested: await deploy(pay(failing, 9)),
  }
  const hashes: Record<string, string> = {}
  const naming = `0x12345678${BERT.slice(2).padStart(64, '0')}`
  for (const [name, to] of Object.entries(payers)) hashes[name] = await send(to, name === 'several' ? naming : '0x', 20)
  hashes.constructing = await send(null, `0x${pay(BERT, 6)}`, 20)
  hashes.plain = await send(ANNA, '0x', 13)
  await rpc('evm_mine')
  const number = Number(await rpc('eth_blockNumber'))
  const read = await readBlocks(client, { from: number, to: number, blockReceipts: true, recover: null })
  const [block] = read.blocks as readonly [Block]
  t.equal(block.transactions.length, Object.keys(hashes).length)
  t.ok(block.transactions.every(({ status }) => status === 'success'))

  const expected = [
    [ANNA, hashes.one, 5n],
    [ANNA, hashes.several, 4n],
    [ANNA, hashes.delegating, 7n],
    [ANNA, hashes.destroying, 20n],
    [BERT, hashes.several, 2n],
    [BERT, hashes.creating, 11n],
    [BERT, hashes['failing inside'], 4n],
    [BERT, hashes.constructing, 6n],
  ].map((one) => one.join(' '))

  return { client, block, expected }
}

/** As one node that lacks methods, where a quorum must say the same. */
async function find({ client, block }: Paid, lacking: readonly string[], quorum: number) {
  const node = { ...without(client, lacking), host: 'anvil', doubt: () => undefined }
  // No quorum has a balance, so that proofs alone show them.
  const reads = {
    nodes: () => [node],
    quorum: { needed: quorum, nodes: 1 },
    agreed: without(client, ['eth_getBalance']),
  }
  const refused: string[] = []
  const traces = createBlockTraces(reads, { now: () => performance.now(), onRefused: (_, why) => refused.push(why) })
  const sources: InternalSources = {
    ...{ traces, quorum, paysTips: true },
    changesOf: (one, addresses) => readBalanceChanges(reads, one, addresses),
    walletsAmong: async (addresses) => new Set([...WALLETS].filter((address) => addresses.has(address))),
  }
  const [found] = await findInternal(sources, [block])
  const told = [...(found?.told ?? [])].flatMap(([address, { transfers }]) =>
    transfers.map(({ hash, amount, attribution }) => ({ address, hash, amount, attribution })),
  )
  return { state: await traces.state(), told, refused }
}

type Paid = Awaited<ReturnType<typeof payInOneBlock>>

const asText = (told: Awaited<ReturnType<typeof find>>['told']) =>
  told.map(({ address, hash, amount }) => `${address} ${hash} ${amount}`).sort()

t.test('logs aside, every source finds what contracts of seven kinds pay', async (t) => {
  const paid = await payInOneBlock(t)
  const expected = paid.expected.toSorted()
  for (const [method, other] of [
    ['trace_block', 'debug_traceBlockByNumber'],
    ['debug_traceBlockByNumber', 'trace_block'],
  ] as const) {
    const alone = await find(paid, [other], 1)
    t.strictSame(alone.refused, [], method)
    t.equal(alone.state, `anvil: ${method}`)
    t.strictSame(asText(alone.told), expected, method)
    const proven = await find(paid, [other], 2)
    t.strictSame(asText(proven.told), expected, `${method}, with proofs`)
    t.ok(proven.told.every(({ attribution }) => attribution === 'hint'))
  }
  const blind = await find(paid, ['trace_block', 'debug_traceBlockByNumber'], 2)
  t.equal(blind.state, 'anvil: none')
  t.strictSame(blind.told.map(({ address, amount }) => `${address} ${amount}`).sort(), [`${ANNA} 36`, `${BERT} 23`])
})
