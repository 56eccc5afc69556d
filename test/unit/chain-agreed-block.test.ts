/** Blocks that any node may show: a wrong one costs the question to the next node, whatever it has in its transactions. */
import { concat, encodeRlp, keccak256, Transaction, type TransactionLike, Wallet } from 'ethers'
import t from 'tap'
import { readProvenBlock } from '../../src/chain/agreed-block.ts'
import { readAgreedBlocks } from '../../src/chain/agreed-blocks.ts'
import type { Nodes } from '../../src/chain/agreement.ts'
import type { RpcReader, RpcRequest } from '../../src/chain/json-rpc.ts'
import type { Raw } from '../../src/chain/transaction-bytes.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type OracleEntry, oracleBlock, type RawParts, shownTransaction } from '../support/oracle-block.ts'

const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const TO = `0x${'22'.repeat(20)}`
const NOBODY = `0x${'00'.repeat(20)}`
const FIELDS: TransactionLike = { type: 2, chainId: 137, nonce: 3, to: TO, value: 5n, gasLimit: 21_000n, data: '0x' }
const FEES = { maxFeePerGas: 9n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n }
const SYNC_BYTES = concat(['0x7f', encodeRlp([['0x07', TO]])])

async function sent(): Promise<OracleEntry> {
  const signed = Transaction.from(await KEY.signTransaction({ ...FIELDS, ...FEES }))
  return { shown: shownTransaction(signed), bytes: signed.serialized, price: 7n * 10n ** 9n, gasUsed: 21_000 }
}

/** What the consensus of polygon brings over. */
const SYNC: OracleEntry = {
  shown: {
    ...{
      hash: keccak256(SYNC_BYTES),
      type: '0x7f',
      from: NOBODY,
      to: NOBODY,
      nonce: '0x0',
      gas: '0x0',
      gasPrice: '0x0',
    },
    ...{ value: '0x0', input: '0x', v: '0x0', r: '0x0', s: '0x0' },
  },
  ...{ bytes: SYNC_BYTES, price: 0n, gasUsed: 0 },
}

const block = async (entries: readonly OracleEntry[]) => oracleBlock({ baseFeePerGas: '0x12a05f200' }, entries)

/** A node with this one block. */
function nodeOf({ block: header, transactions, receipts }: RawParts): RpcReader {
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_getBlockByNumber: ([, isFull]) => ({ ...header, transactions: isFull ? structuredClone(transactions) : [] }),
    eth_getBlockReceipts: () => receipts,
    eth_getRawTransactionByHash: () => SYNC_BYTES,
  }
  return {
    batch: async (requests: readonly RpcRequest[]) =>
      requests.map(({ method, params }) => ({ ok: true, value: answers[method]?.(params) ?? null })),
  }
}

/** Of which the last one says what the others agree on. */
function nodesOf(...parts: readonly RawParts[]): Nodes {
  const readers = parts.map((one) => ({ ...nodeOf(one), host: 'node.test', doubt: () => undefined }))
  const agreed = readers.at(-1)
  if (agreed === undefined) throw new Error('no nodes')
  const newest = async () => ({ number: 16, hash: String(parts.at(-1)?.block.hash) })
  return { agreed, newest, nodes: () => readers, quorum: { needed: 2, nodes: 3 } }
}

const changed = (parts: RawParts, fields: Raw): RawParts => ({
  ...parts,
  transactions: parts.transactions.map((one) => ({ ...one, ...fields })),
})

t.test('a node that shows transactions of no known type does not stop the following of a network', async (t) => {
  const honest = await block([await sent()])
  const wanted = { from: 16, to: 16, head: { number: 16, hash: String(honest.block.hash) }, parentHash: '' }
  for (const type of ['0x99', 'none', '0x07f', 7, {}, null]) {
    const nodes = nodesOf(changed(honest, { type }), honest)
    const read = await readAgreedBlocks(nodes, { recover: recoveredAddress, blockReceipts: true }, wanted)
    matchExactly(
      t,
      read.blocks,
      [{ number: 16, transactions: [{ from: KEY.address.toLowerCase() }] }],
      JSON.stringify(type),
    )
    matchExactly(t, await readProvenBlock(nodes, 16), { transactions: honest.transactions })
  }
})

t.test('what used a nonce is found in a block with a state sync too', async (t) => {
  const parts = await block([await sent(), SYNC])
  matchExactly(t, await readProvenBlock(nodesOf(parts, parts), 16), {
    transactions: [{ nonce: '0x3' }, { type: '0x7f' }],
  })
})

t.test('a node that shows few blocks at a time does not set the pace: the others are asked before it', async (t) => {
  const lower = await block([await sent()])
  const link = { parentHash: lower.block.hash, number: '0x11' }
  const upper = await oracleBlock({ ...link, baseFeePerGas: '0x12a05f200' }, [await sent()])
  const doubted: string[] = []
  const readerOf = (host: string, upTo: number) => ({
    host,
    doubt: () => void doubted.push(host),
    async batch(requests: readonly RpcRequest[]) {
      const answers = requests.map(async (request) => {
        const at = Number(request.params[0])
        if (at > upTo) return { ok: true, value: null } as const
        return (await nodeOf(at === 16 ? lower : upper).batch([request]))[0] ?? ({ ok: true, value: null } as const)
      })
      return Promise.all(answers)
    },
  })
  const [few, all] = [readerOf('few.test', 16), readerOf('all.test', 17)]
  const head = { number: 17, hash: String(upper.block.hash) }
  const client = { agreed: all, newest: async () => head, nodes: () => [few, all], quorum: { needed: 2, nodes: 3 } }
  const wanted = { from: 16, to: 17, head, parentHash: String(lower.block.parentHash) }
  const read = await readAgreedBlocks(client, { recover: recoveredAddress, blockReceipts: true }, wanted)
  matchExactly(t, read.blocks, [{ number: 16 }])
  t.strictSame(doubted, ['few.test'])
  const others = { ...client, nodes: () => [all, few] }
  t.equal((await readAgreedBlocks(others, { recover: null, blockReceipts: true }, wanted)).blocks.length, 2)
  t.equal(doubted.length, 1)
})
