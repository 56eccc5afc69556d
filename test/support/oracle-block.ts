/**
 * Blocks as nodes show them, whose hashes and roots are made by other code than ours: the trie by @ethereumjs/mpt, bytes
 * and hashes by ethers.
 */
import { createMPT } from '@ethereumjs/mpt'
import { encodeRlp, getBytes, keccak256, type Transaction, toBeArray, toBeHex, zeroPadValue } from 'ethers'

export type RawFields = Record<string, unknown>
export type RawParts = { readonly block: RawFields; readonly transactions: RawFields[]; readonly receipts: RawFields[] }

export type OracleEntry = {
  /** Its fields as a node shows them. */
  readonly shown: RawFields
  /** As it stands under the root; `null` when no root has it. */
  readonly bytes: string | null
  readonly price: bigint
  readonly gasUsed: number
  readonly status?: 0 | 1
  readonly logs?: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[]
}

type Nested = Parameters<typeof encodeRlp>[0]

const NO_UNCLES = keccak256(encodeRlp([]))
const BLOOM_BYTES = 256
const FIRST = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...['number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
]
const QUANTITIES = new Set(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'baseFeePerGas'])
for (const name of ['blobGasUsed', 'excessBlobGas', 'slotNumber']) QUANTITIES.add(name)

/** @param header the fields that differ from an old block without any; those after `nonce` in the order of the network */
export async function oracleBlock(header: RawFields, entries: readonly OracleEntry[]): Promise<RawParts> {
  const receipts = receiptsOf(entries)
  const inRoots = (_: unknown, index: number) => entries[index]?.bytes !== null
  const transactionsRoot = await trieRoot(entries.filter(inRoots).map(({ bytes }) => bytes ?? ''))
  const receiptsRoot = await trieRoot(receipts.filter(inRoots).map(receiptBytes))
  const block: RawFields = {
    ...{ parentHash: hash('parent'), sha3Uncles: NO_UNCLES, miner: `0x${'ab'.repeat(20)}`, stateRoot: hash('state') },
    ...{
      transactionsRoot,
      receiptsRoot,
      logsBloom: `0x${'00'.repeat(BLOOM_BYTES)}`,
      difficulty: '0x2',
      number: '0x10',
    },
    ...{ gasLimit: '0x1c9c380', gasUsed: '0x5208', timestamp: '0x6855884d', extraData: '0xd883', mixHash: hash('mix') },
    ...{ nonce: '0x0000000000000000', ...header },
  }
  const later = Object.keys(header).filter((name) => !FIRST.includes(name))
  const fields = [...FIRST, ...later].map((name) => {
    const value = String(block[name] ?? '0x')
    return QUANTITIES.has(name) && value !== '0x' ? bare(value) : value
  })
  block.hash = keccak256(encodeRlp(fields))
  const place = (index: number) => ({
    ...{ blockHash: block.hash, blockNumber: block.number, transactionIndex: toQuantity(index) },
  })
  return {
    block,
    transactions: entries.map(({ shown }, index) => ({ ...shown, ...place(index) })),
    receipts: receipts.map((receipt, index) => {
      const own = { ...place(index), transactionHash: entries[index]?.shown.hash }
      return { ...receipt, ...own, logs: (receipt.logs as RawFields[]).map((log) => ({ ...log, ...own })) }
    }),
  }
}

/** A signed transaction in a block, as a node shows it. */
export function shownTransaction(signed: Transaction): RawFields {
  const { type, hash, from, to, nonce, value, gasLimit, data, signature, chainId } = signed
  const isLegacy = type === 0
  const v = isLegacy ? (signature?.networkV ?? signature?.v ?? 0) : (signature?.yParity ?? 0)
  const shared = { hash, from, to, nonce: toQuantity(nonce), value: toQuantity(value), gas: toQuantity(gasLimit) }
  return {
    ...{ ...shared, type: toQuantity(type ?? 0), input: data, r: signature?.r, s: signature?.s, v: toQuantity(v) },
    ...(isLegacy ? {} : { yParity: toQuantity(v), chainId: toQuantity(chainId), accessList: signed.accessList }),
    ...(signed.gasPrice === null ? feesOf(signed) : { gasPrice: toQuantity(signed.gasPrice) }),
    ...(signed.maxFeePerBlobGas === null ? {} : { maxFeePerBlobGas: toQuantity(signed.maxFeePerBlobGas) }),
    ...(signed.blobVersionedHashes === null ? {} : { blobVersionedHashes: signed.blobVersionedHashes }),
    ...(signed.authorizationList === null
      ? {}
      : {
          authorizationList: signed.authorizationList.map(
            ({ address, nonce, chainId, signature: { r, s, yParity } }) => ({
              ...{
                address,
                nonce: toQuantity(nonce),
                chainId: toQuantity(chainId),
                r,
                s,
                yParity: toQuantity(yParity),
              },
            }),
          ),
        }),
  }
}

function feesOf({ maxFeePerGas, maxPriorityFeePerGas }: Transaction): RawFields {
  return {
    maxFeePerGas: toQuantity(maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas ?? 0n),
  }
}

function receiptsOf(entries: readonly OracleEntry[]): RawFields[] {
  let [cumulative, place] = [0, 0]
  return entries.map(({ shown, gasUsed, price, status = 1, logs = [] }) => {
    cumulative += gasUsed
    return {
      ...{ type: shown.type, from: shown.from, to: shown.to, status: toQuantity(status), gasUsed: toQuantity(gasUsed) },
      ...{ cumulativeGasUsed: toQuantity(cumulative), effectiveGasPrice: toQuantity(price), contractAddress: null },
      logsBloom: bloomOf(logs.flatMap(({ address, topics }) => [address, ...topics])),
      logs: logs.map((log) => ({ ...log, logIndex: toQuantity(place++), removed: false })),
    }
  })
}

function receiptBytes({ type, status, cumulativeGasUsed, logsBloom, logs }: RawFields): string {
  const rows = (logs as RawFields[]).map(({ address, topics, data }): Nested[] => [
    ...[String(address), topics as string[], String(data)],
  ])
  const body = encodeRlp([bare(String(status)), bare(String(cumulativeGasUsed)), String(logsBloom), rows])
  return type === '0x0' ? body : `${toBeHex(Number(type))}${body.slice(2)}`
}

function bloomOf(words: readonly string[]): string {
  const bits = new Uint8Array(BLOOM_BYTES)
  for (const word of words) {
    const digest = Buffer.from(getBytes(keccak256(word)))
    for (const at of [0, 2, 4]) {
      const bit = digest.readUInt16BE(at) % (8 * BLOOM_BYTES)
      const place = BLOOM_BYTES - 1 - Math.floor(bit / 8)
      bits[place] = (bits[place] ?? 0) | (1 << (bit % 8))
    }
  }
  return `0x${Buffer.from(bits).toString('hex')}`
}

/** The root of a list, by the library. */
export async function trieRoot(items: readonly string[]): Promise<string> {
  const trie = await createMPT()
  for (const [index, item] of items.entries()) await trie.put(getBytes(encodeRlp(toBeArray(index))), getBytes(item))
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}

/** The shortest bytes of a quantity. */
function bare(quantity: string): Uint8Array {
  return toBeArray(BigInt(quantity))
}

function toQuantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

export function hash(text: string): string {
  return keccak256(zeroPadValue(`0x${Buffer.from(text).toString('hex')}`, 32))
}
