/**
 * The CPU that it takes to prove a block under its hash and to derive what the service reads of it, without senders; the
 * ordered root beside that of @ethereumjs/mpt; and the share of a core at the rates of real chains.
 */
import { HDNodeWallet, Transaction, toBeHex, zeroPadValue } from 'ethers'
import { provenBlock } from '../../src/chain/block-proof.ts'
import { useFastKeccak } from '../../src/chain/fast-keccak.ts'
import { orderedRoot } from '../../src/chain/ordered-root.ts'
import { type RecoverAddress, senderOf } from '../../src/chain/transaction-bytes.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import {
  hash,
  type OracleEntry,
  oracleBlock,
  type RawParts,
  shownTransaction,
  trieRoot,
} from '../support/oracle-block.ts'
import type { Figure } from './report.ts'

const SIZES = [200, 1_000]
const LIMIT_MS = 30
const ROUNDS = 20
const GWEI = 10n ** 9n
/** Seconds between blocks, and transactions in one. */
const RATES = [
  { chain: 'BSC, 0.75 s', seconds: 0.75, transactions: 200 },
  { chain: 'BSC, 0.45 s', seconds: 0.45, transactions: 200 },
  { chain: 'polygon, 2 s', seconds: 2, transactions: 100 },
  { chain: 'ethereum, 12 s', seconds: 12, transactions: 200 },
]
const NOBODY: RecoverAddress = () => null

export async function benchProof(): Promise<Figure[]> {
  useFastKeccak()
  const figures: Figure[] = []
  const perBlock = new Map<number, number>()
  for (const size of [...SIZES, ...RATES.map(({ transactions }) => transactions)]) {
    if (perBlock.has(size)) continue
    const { block, transactions, receipts } = await usualBlock(size)
    const prove = () => {
      const { disproof } = provenBlock(block, transactions, receipts, NOBODY)
      if (disproof !== null) throw new Error(disproof)
    }
    perBlock.set(size, cpuMs(prove))
    if (!SIZES.includes(size)) continue
    const leaves = transactions.map(({ raw }) => String(raw))
    const bytes = leaves.map((leaf) => Buffer.from(leaf.slice(2), 'hex'))
    const library = await cpuMsOf(() => trieRoot(leaves))
    figures.push(
      {
        ...{ bench: `prove a block of ${size} transactions`, unit: 'ms CPU', ours: perBlock.get(size) ?? 0 },
        ...{
          ceiling: (LIMIT_MS * size) / 200,
          ceilingIs: 'the aim: 30 ms for 200',
          note: 'with derivation, no senders',
        },
      },
      {
        ...{
          bench: `ordered root of ${size} transactions`,
          unit: 'ms CPU',
          ours: cpuMs(() => void orderedRoot(bytes)),
        },
        ...{ ceiling: library, ceilingIs: 'the same by @ethereumjs/mpt' },
      },
      {
        ...{ bench: `senders of ${size} transactions`, unit: 'ms CPU' },
        ...{ ours: cpuMs(() => transactions.forEach((one) => void senderOf(one, recoveredAddress))) },
        ...{ ceiling: 0, ceilingIs: '', note: 'only those that matter are recovered' },
      },
    )
  }
  for (const { chain, seconds, transactions } of RATES)
    figures.push({
      ...{ bench: `proofs at the rate of ${chain}`, unit: '% of a core' },
      ...{ ours: (perBlock.get(transactions) ?? 0) / (10 * seconds), ceiling: 0, ceilingIs: '' },
      note: `${transactions} transactions a block`,
    })
  return figures
}

/** As blocks of these chains are: every other transaction calls a token, a third has four logs, the others one or none. */
async function usualBlock(size: number): Promise<RawParts> {
  const key = HDNodeWallet.createRandom()
  const call = { chainId: 56, to: `0x${'22'.repeat(20)}`, value: 10n ** 17n, gasLimit: 300_000n }
  const fees = { type: 2, maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: 2n * GWEI }
  const word = (value: number) => zeroPadValue(toBeHex(value), 32)
  const log = { address: call.to, topics: [hash('Transfer'), word(1), word(2)], data: word(3) }
  const entries: OracleEntry[] = []
  for (let nonce = 0; nonce < size; nonce++) {
    const data = nonce % 2 === 0 ? '0x' : `0xa9059cbb${'11'.repeat(32 * (2 + (nonce % 8)))}`
    const signed = Transaction.from(await key.signTransaction({ ...call, ...fees, nonce, data }))
    const logs = Array.from({ length: nonce % 3 === 0 ? 4 : nonce % 2 }, () => log)
    const shown = { ...shownTransaction(signed), raw: signed.serialized }
    entries.push({ shown, bytes: signed.serialized, price: 7n * GWEI, gasUsed: 50_000, logs })
  }
  return oracleBlock({ baseFeePerGas: '0x12a05f200' }, entries)
}

/** CPU of one run, after warming up. */
function cpuMs(run: () => void): number {
  for (let i = 0; i < ROUNDS; i++) run()
  const before = process.cpuUsage()
  for (let i = 0; i < ROUNDS; i++) run()
  return elapsed(before) / ROUNDS
}

async function cpuMsOf(run: () => Promise<unknown>): Promise<number> {
  await run()
  const before = process.cpuUsage()
  for (let i = 0; i < ROUNDS; i++) await run()
  return elapsed(before) / ROUNDS
}

function elapsed(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
