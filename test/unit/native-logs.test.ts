/** Native transfers are read once each, whether logs show them or not. */
import t from 'tap'
import { touchedBy } from '../../src/balances/touched.ts'
import type { Block, BlockTransaction, ChainLogEntry } from '../../src/chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import { NATIVE_LOG_ADDRESS, nativeTransfersOf } from '../../src/chain/native-logs.ts'
import { describeToken } from '../../src/chain/token-metadata.ts'

const addressOf = (digit: string) => `0x${digit.repeat(40)}`
const [ALICE, BOB, CAROL, MINER, SPLITTER] = ['a', 'b', 'c', 'd', 'e'].map(addressOf) as [
  string,
  string,
  string,
  string,
  string,
]
const word = (hex: string) => `0x${hex.replace('0x', '').padStart(64, '0')}`

function nativeLog(from: string, to: string, amount: bigint, logIndex = 0): ChainLogEntry {
  const topics = [TRANSFER_TOPIC, word(from), word(to)]
  return { address: NATIVE_LOG_ADDRESS, topics, data: word(amount.toString(16)), logIndex }
}

function transaction(given: Partial<BlockTransaction>): BlockTransaction {
  return {
    ...{ hash: word('1'), from: ALICE, to: BOB, nonce: 0, value: 0n, input: '0x', status: 'success' as const },
    ...{ gasUsed: 21_000n, effectiveGasPrice: 10n, offer: null, logs: [], authorizations: [], hasBlobs: false },
    ...given,
  }
}

t.test('the value of a transaction is seen twice and counts once', (t) => {
  const plain = transaction({ value: 7n })
  const before = [{ from: ALICE, to: BOB, amount: 7n, logIndex: null }]
  t.strictSame(nativeTransfersOf(plain), before, 'without logs')
  const since = [{ from: ALICE, to: BOB, amount: 7n, logIndex: 3 }]
  t.strictSame(nativeTransfersOf({ ...plain, logs: [nativeLog(ALICE, BOB, 7n, 3)] }), since, 'with its log')
  const twice = { ...plain, logs: [nativeLog(ALICE, BOB, 7n), nativeLog(ALICE, BOB, 7n, 1)] }
  t.equal(nativeTransfersOf(twice).length, 2, 'the same amount again, from code, is another transfer')
  t.strictSame(nativeTransfersOf({ ...plain, status: 'reverted' }), [], 'nothing moved')
  t.strictSame(nativeTransfersOf({ ...plain, to: ALICE }), [], 'to itself: no log, no movement')
  const created = { ...plain, to: null, logs: [nativeLog(ALICE, CAROL, 7n)] }
  t.strictSame(nativeTransfersOf(created), [{ from: ALICE, to: CAROL, amount: 7n, logIndex: 0 }], 'a created contract')
  t.end()
})

t.test('a log of another contract with the same topic is no native transfer', (t) => {
  const forged = { ...nativeLog(ALICE, BOB, 7n), address: addressOf('9') }
  t.strictSame(nativeTransfersOf(transaction({ logs: [forged] })), [])
  t.end()
})

t.test('block by block, what is read and the fees are the change of every balance', (t) => {
  const balances = new Map([ALICE, BOB, CAROL, MINER, SPLITTER].map((one) => [one, 1_000_000_000n]))
  const add = (address: string, wei: bigint) => balances.set(address, (balances.get(address) ?? 0n) + wei)
  // The chain executes; the reader sees transactions and logs alone.
  const blocks = [true, false, true].map((isLogged, n) => {
    const top = transaction({ value: 900n, to: SPLITTER })
    const halves = [BOB, CAROL].map((to, i) => nativeLog(SPLITTER, to, 450n, i + 1))
    const logs = isLogged ? [nativeLog(ALICE, SPLITTER, 900n), ...halves] : []
    const before = new Map(balances)
    const inner = isLogged ? [450n, 450n] : []
    add(ALICE, -900n)
    add(SPLITTER, 900n - inner.reduce((sum, wei) => sum + wei, 0n))
    for (const [i, wei] of inner.entries()) add([BOB, CAROL][i] ?? '', wei)
    const fee = top.gasUsed * top.effectiveGasPrice
    add(ALICE, -fee)
    return { n, before, after: new Map(balances), transactions: [{ ...top, logs }] }
  })
  for (const { n, before, after, transactions } of blocks) {
    const read = new Map<string, bigint>()
    const change = (address: string | null, wei: bigint) =>
      address && read.set(address, (read.get(address) ?? 0n) + wei)
    for (const one of transactions) {
      change(one.from, -one.gasUsed * one.effectiveGasPrice)
      for (const { from, to, amount } of nativeTransfersOf(one)) {
        change(from, -amount)
        change(to, amount)
      }
    }
    for (const [address, balance] of after)
      t.equal(read.get(address) ?? 0n, balance - (before.get(address) ?? 0n), `block ${n}, ${address}`)
  }
  t.end()
})

t.test('who got native currency from a contract is touched, and the address of the logs is no token', async (t) => {
  const logs = [nativeLog(SPLITTER, CAROL, 450n)]
  const touched = touchedBy([{ transactions: [transaction({ to: SPLITTER, logs })] } as unknown as Block])
  t.ok(touched.some(({ address, contract }) => address === CAROL && contract === null))
  t.notOk(touched.some(({ contract }) => contract === NATIVE_LOG_ADDRESS))
  const unasked = { batch: () => Promise.reject(new Error('asked')) } as RpcReader
  t.match(await describeToken(unasked, NATIVE_LOG_ADDRESS.toUpperCase().replace('0X', '0x')), { flaw: /EIP-7708/ })
})
