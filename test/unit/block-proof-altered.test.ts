/** Whichever single field of a block a node alters: it is disproved, or nothing reads the field. */
import { readFileSync } from 'node:fs'
import { concat, encodeRlp, keccak256, Transaction, Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { provenBlock } from '../../src/chain/block-proof.ts'
import { useFastKeccak } from '../../src/chain/fast-keccak.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { MAY_BE_MISSING, NOTHING_READS, unreadFields } from '../support/altered-fields.ts'
import { hash, oracleBlock, type RawParts, shownTransaction } from '../support/oracle-block.ts'

useFastKeccak()
const NOBODY = `0x${'00'.repeat(20)}`
const TO = `0x${'22'.repeat(20)}`

/** All of it, with the senders. */
function read({ block, transactions, receipts }: RawParts): unknown {
  const proof = provenBlock(block, transactions, receipts, recoveredAddress)
  return proof.block && { ...proof.block, transactions: proof.block.transactions.map((one) => ({ ...one })) }
}

/** @param also fields that nothing reads of transactions of this kind */
async function check(t: Test, parts: RawParts, also: readonly string[] = []): Promise<void> {
  const { altered, missing } = await unreadFields(parts, read)
  t.strictSame(
    altered.filter((field) => ![...NOTHING_READS, ...also].includes(field)),
    [],
    'neither disproved nor without a reader',
  )
  t.strictSame(
    missing.filter((field) => ![...MAY_BE_MISSING, ...also].includes(field)),
    [],
    'missed by nobody',
  )
}

for (const name of ['geth-osaka', 'geth-amsterdam'])
  t.test(`blocks of ${name}, with the types 0, 1, 2 and 4`, async (t) => {
    for (const { block, receipts } of JSON.parse(
      readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'),
    )) {
      const { transactions, ...header } = block
      await check(t, { block: header, transactions, receipts })
    }
  })

t.test('a block with blobs and a reverted transaction', async (t) => {
  const key = new Wallet(`0x${'11'.repeat(32)}`)
  const call = {
    chainId: 137,
    nonce: 3,
    to: TO,
    value: 5n,
    gasLimit: 21_000n,
    maxFeePerGas: 9n,
    maxPriorityFeePerGas: 2n,
  }
  const blobs = { ...call, type: 3, maxFeePerBlobGas: 3n, blobVersionedHashes: [`0x01${'33'.repeat(31)}`] }
  const signed = Transaction.from(await key.signTransaction(blobs))
  const entry = { shown: shownTransaction(signed), bytes: signed.serialized, price: 7n, gasUsed: 21_000 }
  await check(t, await oracleBlock({ baseFeePerGas: '0x5' }, [{ ...entry, status: 0 }, entry]))
})

t.test('a block with a state sync, of which nodes show fields that its bytes have not', async (t) => {
  const bytes = concat(['0x7f', encodeRlp([['0x07', TO, '0x1234', hash('ethereum')]])])
  const shown = {
    ...{ hash: keccak256(bytes), type: '0x7f', raw: bytes, from: NOBODY, to: NOBODY, nonce: '0x0', value: '0x0' },
    ...{ gas: '0x0', gasPrice: '0x0', input: '0x', v: '0x0', r: '0x0', s: '0x0' },
  }
  const log = { address: TO, topics: [hash('topic'), hash('other')], data: '0x1234' }
  const parts = await oracleBlock({ baseFeePerGas: '0x5' }, [{ shown, bytes, price: 0n, gasUsed: 0, logs: [log, log] }])
  await check(
    t,
    parts,
    ['gas', 'r', 's'].map((name) => `transactions.${name}`),
  )
})

t.end()
