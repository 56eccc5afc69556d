/**
 * What a signer proves of a nonce that the log calls lost, where one of three nodes lies about blocks, receipts and counts:
 * it signs no second nonce for a payment that is on chain.
 */
import { Transaction, Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { headerHash } from '../../src/chain/block-proof.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { orderedRoot } from '../../src/chain/ordered-root.ts'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import type { Raw } from '../../src/chain/transaction-bytes.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { consumerIn, findConsumer, ownConsumer } from '../../src/transactions/find-consumer.ts'
import { createProveLost } from '../../src/transactions/prove-lost.ts'
import { type AlteredNode, withAlteredNode } from '../support/altered-node.ts'
import { withAnvil } from '../support/anvil.ts'
import { fold, requested, signed, TAG_KEYS } from '../support/recorded-transactions.ts'

const CHAIN_ID = 1_000_001
const CONFIRMATIONS = 2
const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const STRANGER = new Wallet(`0x${'22'.repeat(32)}`)
const FEES = { maxFeePerGas: 50n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n }
const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

type Chain = {
  readonly rpc: (method: string, ...params: unknown[]) => Promise<unknown>
  /** The first one is asked first. */
  readonly nodes: readonly [AlteredNode, AlteredNode, AlteredNode]
  readonly client: ReturnType<typeof createRpcClient>
  readonly two: ReturnType<typeof createRpcClient>
  readonly mine: (blocks?: number) => Promise<unknown>
}

async function withChain(t: Test): Promise<Chain> {
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const rpc = (method: string, ...params: unknown[]) => callRpc(url, method, params)
  const nodes = [
    await withAlteredNode(t, () => url),
    await withAlteredNode(t, () => url),
    await withAlteredNode(t, () => url),
  ] as const
  const connect = (among: readonly AlteredNode[]) => {
    const urls = among.map((node) => node.url)
    const client = createRpcClient({ urls, chainId: CHAIN_ID, timeoutMs: 20_000, now: Date.now, log: SILENT_LOG })
    t.after(() => client.close())
    return client
  }
  for (const { address } of [KEY, STRANGER]) await rpc('anvil_setBalance', address, toQuantity(10n ** 20n))
  const mine = (blocks = 1) => rpc('anvil_mine', toQuantity(blocks))
  await mine(3)
  return { rpc, nodes, mine, client: connect(nodes), two: connect(nodes.slice(0, 2)) }
}

const sign = (key: Wallet, fields: { readonly nonce: number; readonly value: bigint }) =>
  key.signTransaction({ type: 2, chainId: CHAIN_ID, to: STRANGER.address, gasLimit: 21_000n, ...FEES, ...fields })

const hashOf = (raw: string) => Transaction.from(raw).hash ?? ''

/** As a node shows it. */
function shown(raw: string, from: string): Raw {
  const { hash, to, nonce, gasLimit, value, signature } = Transaction.from(raw)
  return {
    ...{ hash, from, to, type: '0x2', chainId: toQuantity(CHAIN_ID), accessList: [], input: '0x' },
    ...{ nonce: toQuantity(nonce), gas: toQuantity(gasLimit), value: toQuantity(value) },
    ...{ maxFeePerGas: toQuantity(FEES.maxFeePerGas), maxPriorityFeePerGas: toQuantity(FEES.maxPriorityFeePerGas) },
    ...{ r: signature?.r, s: signature?.s, yParity: toQuantity(signature?.yParity ?? 0) },
  }
}

/** A payment of ours in a block, deep enough. */
async function withOurs(t: Test) {
  const chain = await withChain(t)
  const ours = await sign(KEY, { nonce: 0, value: 1n })
  await chain.rpc('eth_sendRawTransaction', ours)
  await chain.mine()
  const block = Number(await chain.rpc('eth_blockNumber'))
  await chain.mine(8)
  return { ...chain, hash: hashOf(ours), block }
}

/** The transaction as a log says that lost its nonce, and what a signer says to it. */
function verdict(
  client: Chain['client'] | null,
  hash: string,
  takenBy: { hash: string; blockNumber: number; blockHash?: string },
  finalizes = false,
) {
  const state = fold([
    {
      ...requested,
      data: { ...requested.data, chainId: CHAIN_ID, from: KEY.address, to: STRANGER.address, amount: 1n },
    },
    { ...signed, data: { ...signed.data, nonce: 0, hash } },
    {
      type: 'NonceConsumedExternally',
      data: { nonce: 0, finalizedBlock: 9, takenBy, foundAt: '2026-11-25T12:00:00.000Z' },
    },
  ])
  if (state.state === 'unknown') throw new Error('it was requested')
  const chain = client === null ? null : { client, confirmations: CONFIRMATIONS, finalizes }
  const proveLost = createProveLost({ keys: TAG_KEYS, chainOf: () => chain })
  return proveLost(state, 'tx_1')
}

const ACCOUNT = { chainId: CHAIN_ID, address: KEY.address, nonce: 0 }

t.test('a forged block with a transaction of another program, which no block has, frees no nonce', async (t) => {
  const { nodes, client, hash, block } = await withOurs(t)
  const [liar] = nodes
  const never = await sign(KEY, { nonce: 0, value: 7n })
  const strangers = await sign(STRANGER, { nonce: 0, value: 7n })
  const forged: Readonly<Record<string, readonly Raw[]>> = {
    'signed by the key': [shown(never, KEY.address)],
    'signed by the key, with another sender': [shown(never, STRANGER.address)],
    'signed by a stranger, with our sender': [shown(strangers, KEY.address)],
    'nothing at all': [],
  }
  for (const [name, transactions] of Object.entries(forged))
    for (const isWhole of [false, true]) {
      let blockHash = ''
      liar.alter = ({ method, params }, result) => {
        if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return null
        if (method === 'eth_getBlockByNumber' && Number(params[0]) === block) {
          const changed = { ...(result as Raw), ...(params[1] === true ? { transactions } : {}) }
          if (!isWhole) return changed
          const bytes = transactions.length === 0 ? [] : [Buffer.from(never.slice(2), 'hex')]
          const whole = { ...changed, transactionsRoot: orderedRoot(bytes) }
          blockHash = headerHash(whole)
          return { ...whole, hash: blockHash }
        }
        return result
      }
      const what = `${name}${isWhole ? ', in a whole block with its own hash' : ''}`
      t.match(await consumerIn(client, ACCOUNT, block), { hash, kind: 'transaction' }, what)
      t.match(await findConsumer(client, ACCOUNT, block + 6), { hash }, what)
      for (const claimed of [{}, { blockHash: blockHash || 'none' }])
        t.match(await verdict(client, hash, { hash: hashOf(never), blockNumber: block, ...claimed }), /used by/, what)
    }
})

t.test('a node that says a lower or a higher count, or denies receipts, changes nothing that is proven', async (t) => {
  const { nodes, client, hash, block } = await withOurs(t)
  const [liar] = nodes
  for (const count of [0, 1, 201, 2 ** 52]) {
    liar.alter = ({ method }, result) =>
      method === 'eth_getTransactionCount' ? toQuantity(count) : method === 'eth_getTransactionReceipt' ? null : result
    t.match(await findConsumer(client, ACCOUNT, block + 6), { hash })
    t.equal(await client.transactionCount(KEY.address), 1)
    t.match(await verdict(client, hash, { hash: '0xf', blockNumber: block + 1 }), /used by/)
    // A nonce that nobody used is not lost.
    t.match(
      await verdict(client, `0x${'ab'.repeat(32)}`, { hash: '0xf', blockNumber: block - 1 }),
      /used by this transaction itself/,
    )
  }
  liar.alter = ({ method, params }, result) =>
    method === 'eth_getTransactionReceipt'
      ? {
          blockNumber: toQuantity(params[0] === hash ? block - 1 : 2 ** 50),
          blockHash: hash,
          transactionHash: params[0],
        }
      : result
  t.match(
    await ownConsumer(client, ACCOUNT, [hash], block + 6),
    { hash, blockNumber: block },
    'a false block of a receipt',
  )
})

t.test('no way in which one node writes a payment of ours makes it that of another program', async (t) => {
  const { nodes, client, hash, block } = await withOurs(t)
  const [liar] = nodes
  const ways: Readonly<Record<string, (transaction: Raw) => Raw>> = {
    'without its empty call data': ({ input: _, ...rest }) => rest,
    'with no call data': (transaction) => ({ ...transaction, input: null }),
    'with a recipient in any letters': ({ to, ...rest }) => ({
      ...rest,
      to: String(to).replace(/[a-f]/, (letter) => letter.toUpperCase()),
    }),
    'with its parity under another name': ({ yParity, ...rest }) => ({ ...rest, yParity: null, v: yParity }),
  }
  const forgotten = `0x${'ab'.repeat(32)}`
  for (const [name, written] of Object.entries(ways)) {
    liar.alter = ({ method, params }, result) => {
      if (method !== 'eth_getBlockByNumber' || params[1] !== true) return result
      const shownBlock = result as Raw & { readonly transactions: readonly Raw[] }
      return { ...shownBlock, transactions: shownBlock.transactions.map(written) }
    }
    const takenBy = { hash, blockNumber: block }
    t.match(
      await verdict(client, forgotten, takenBy),
      /used by this transaction itself/,
      `${name}, its bytes forgotten`,
    )
    t.match(await verdict(client, hash, takenBy), /used by/, name)
    t.match(await ownConsumer(client, ACCOUNT, [hash], block), { hash }, name)
  }
})

t.test('an authorization is no proof where one node of three shows a receipt of ours', async (t) => {
  const { rpc, nodes, client, mine, hash } = await withOurs(t)
  const { address, chainId, signature } = KEY.authorizeSync({ address: STRANGER.address, nonce: 0, chainId: CHAIN_ID })
  const parts = { yParity: toQuantity(signature.yParity), r: signature.r, s: signature.s }
  const list = [{ address, chainId: toQuantity(chainId), nonce: '0x0', ...parts }]
  const [sponsor] = (await rpc('eth_accounts')) as string[]
  await rpc('eth_sendTransaction', { from: sponsor, to: STRANGER.address, gas: '0x30d40', authorizationList: list })
  await mine()
  const blockNumber = Number(await rpc('eth_blockNumber'))
  await mine(8)
  for (const node of nodes.slice(0, 2))
    node.alter = ({ method }, result) => (method === 'eth_getTransactionReceipt' ? null : result)
  t.match(await consumerIn(client, ACCOUNT, blockNumber), { kind: 'authorization' })
  t.match(await verdict(client, hash, { hash: '0xf', blockNumber }), /used by a version of this transaction/)
})

t.test(
  'a nonce that another program used is proven although one node hides it, and not by fewer than a quorum',
  async (t) => {
    const { rpc, nodes, client, two, mine } = await withChain(t)
    const [liar, second] = nodes
    const theirs = await sign(KEY, { nonce: 0, value: 7n })
    await rpc('eth_sendRawTransaction', theirs)
    await mine()
    const block = Number(await rpc('eth_blockNumber'))
    await mine(8)
    const ours = hashOf(await sign(KEY, { nonce: 0, value: 1n }))
    const { hash: blockHash } = (await rpc('eth_getBlockByNumber', toQuantity(block), false)) as { hash: string }
    const takenBy = { hash: hashOf(theirs), blockNumber: block, blockHash }
    liar.alter = ({ method }, result) =>
      method === 'eth_getBlockByNumber'
        ? { ...(result as Raw), transactions: [] }
        : method === 'eth_getTransactionCount'
          ? '0x0'
          : result
    t.equal(await verdict(client, ours, takenBy), null)
    t.equal(await verdict(client, ours, { ...takenBy, blockNumber: block - 1 }), null, 'the block is searched for')
    liar.alter = (_call, result) => result
    t.equal(await verdict(two, ours, takenBy), null)
    second.isSilent = true
    await t.rejects(verdict(two, ours, takenBy), { code: /no_quorum|rpc_unavailable/ })
    await t.rejects(ownConsumer(two, ACCOUNT, [ours], block), { code: 'no_quorum' })
  },
)

t.test(
  'where blocks become final, a loss above the final block is not proven yet, whatever one node calls final',
  async (t) => {
    const { rpc, nodes, client, mine } = await withChain(t)
    const theirs = await sign(KEY, { nonce: 0, value: 7n })
    await rpc('eth_sendRawTransaction', theirs)
    await mine()
    const block = Number(await rpc('eth_blockNumber'))
    await mine(8)
    const ours = hashOf(await sign(KEY, { nonce: 0, value: 1n }))
    const final = async (number: number) => await rpc('eth_getBlockByNumber', toQuantity(number), false)
    const [before, at] = [await final(block - 1), await final(block)]
    const calls = (honest: unknown, others: unknown) => {
      for (const [i, node] of nodes.entries())
        node.alter = ({ params }, result) => (params[0] === 'finalized' ? (i === 0 ? others : honest) : result)
    }
    const ask = () => verdict(client, ours, { hash: hashOf(theirs), blockNumber: block }, true)
    calls(before, at)
    t.match(await ask(), /does not show that another transaction used nonce 0/)
    calls(at, before)
    t.equal(await ask(), null)
  },
)

t.test('a process without nodes takes the loss for a claim, and signs no second nonce', async (t) => {
  const takenBy = { hash: `0x${'cd'.repeat(32)}`, blockNumber: 5, blockHash: `0x${'ef'.repeat(32)}` }
  t.match(
    await verdict(null, `0x${'ab'.repeat(32)}`, takenBy),
    /no node of chain 1000001 is configured.*set the RPC URLs/,
  )
})
