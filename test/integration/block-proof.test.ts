/** The blocks of a node of today are proven by their hashes, and none of its fields can be altered unnoticed. */
import { Wallet } from 'ethers'
import t from 'tap'
import { provenBlock } from '../../src/chain/block-proof.ts'
import { type Block, readBlocks } from '../../src/chain/blocks.ts'
import { useFastKeccak } from '../../src/chain/fast-keccak.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { MAY_BE_MISSING, NOTHING_READS, unreadFields } from '../support/altered-fields.ts'
import { withAnvil } from '../support/anvil.ts'
import type { RawFields, RawParts } from '../support/oracle-block.ts'

useFastKeccak()
const GWEI = 10n ** 9n
/** The well-known key of the first account of every local development node. */
const key = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const TO = `0x${'22'.repeat(20)}`
/** Logs 42 under two topics. */
const LOGS = '0x602a60005260aa60bb60206000a200'
const REVERTS = '0xfe'

const anvil = await withAnvil(t, { mining: 'call' })
const call = { chainId: anvil.chainId, gasLimit: 3_000_000n, value: 1n, to: TO }
const fees = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI }
const code = (data: string) => ({ ...call, ...fees, type: 2, to: null, value: 0n, data })
const authorization = key.authorizeSync({ address: TO, nonce: 7, chainId: anvil.chainId })
const sent = [
  { ...call, type: 0, gasPrice: 20n * GWEI },
  { ...call, type: 1, gasPrice: 20n * GWEI, accessList: [{ address: TO, storageKeys: [`0x${'01'.repeat(32)}`] }] },
  { ...call, ...fees, type: 2 },
  ...[code(LOGS), code(LOGS), code(REVERTS)],
  { ...call, ...fees, type: 4, authorizationList: [authorization] },
]
for (const [nonce, fields] of sent.entries())
  await callRpc(anvil.url, 'eth_sendRawTransaction', [await key.signTransaction({ ...fields, nonce })])
for (let i = 0; i < 2; i++) await callRpc(anvil.url, 'evm_mine', [])
const full = await partsOf('0x1')

async function partsOf(number: string): Promise<RawParts> {
  const shown = await callRpc(anvil.url, 'eth_getBlockByNumber', [number, true])
  const { transactions, ...block } = shown as RawFields & { transactions: RawFields[] }
  return { block, transactions, receipts: (await callRpc(anvil.url, 'eth_getBlockReceipts', [number])) as RawFields[] }
}

/** As readBlocks reads them from a node; `null` when it does not. */
async function readAsBefore({ block, transactions, receipts }: RawParts): Promise<Block | null> {
  const answers = [{ ...block, transactions }, receipts]
  const batch = (requests: readonly unknown[]) =>
    Promise.resolve(requests.map((_, i) => ({ ok: true as const, value: answers[i] })))
  const number = Number(block.number)
  const { blocks } = await readBlocks({ batch }, { from: number, to: number, blockReceipts: true, recover: null })
  return blocks[0] ?? null
}

t.test('its blocks are proven, and are what it says', async (t) => {
  t.equal(full.transactions.length, sent.length)
  for (const number of ['0x0', '0x1', '0x2']) {
    const parts = await partsOf(number)
    const { block, disproof } = provenBlock(parts.block, parts.transactions, parts.receipts, recoveredAddress)
    t.equal(disproof, null)
    const asBlock: Block | null = block
    t.strictSame(
      asBlock?.transactions.map((one) => ({ ...one })),
      (await readAsBefore(parts))?.transactions,
    )
  }
})

t.test('a field that is altered is disproved, or nothing reads it', async (t) => {
  const { altered, missing } = await unreadFields(full, ({ block, transactions, receipts }) => {
    const proof = provenBlock(block, transactions, receipts, recoveredAddress)
    return proof.block && { ...proof.block, transactions: proof.block.transactions.map((one) => ({ ...one })) }
  })
  t.strictSame(without(altered, NOTHING_READS), [])
  t.strictSame(without(missing, MAY_BE_MISSING), [])
})

function without(fields: readonly string[], known: readonly string[]): string[] {
  return fields.filter((field) => !known.includes(field))
}

t.end()
