/** What is recorded of transfers on chain: which ones, how they end, what they were worth, and whom they notify. */
import t from 'tap'
import { observedTransferAggregate } from '../../src/activity/aggregate.ts'
import { type TransferCommand, transferDecider } from '../../src/activity/decider.ts'
import type { ObservedTransfer } from '../../src/activity/events.ts'
import { transferId } from '../../src/activity/observe-transfers.ts'
import { type TouchedWallet, transfersIn } from '../../src/activity/transfers-in.ts'
import { noticesOf, valuationOf } from '../../src/activity/valuation.ts'
import type { Block, BlockTransaction } from '../../src/chain/blocks.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import { nativeAsset, tokenAsset } from '../../src/core/assets.ts'
import { derivedIdPattern } from '../../src/core/ids.ts'
import { givenOf } from '../support/given.ts'

const NOW = '2026-11-23T12:00:00.000Z'
const CHAIN = 1000001
const ETH = nativeAsset('ethereum', CHAIN)
const TOKEN = `0x${'d'.repeat(40)}`
const USDC = tokenAsset(CHAIN, TOKEN, 'USDC', 6)
const [ALICE, BOB, CAROL] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string]

function seen(blockNumber: number, blockHash = `0xa${blockNumber}`): ObservedTransfer {
  return {
    tenantId: 'acme',
    walletId: 'wal_1',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: CHAIN,
    direction: 'in',
    hash: '0x1',
    logIndex: null,
    counterparty: ALICE,
    asset: ETH,
    amount: '5',
    valuation: null,
    notices: ['deposit'],
    transactionId: null,
    blockNumber,
    blockHash,
    blockTimestamp: NOW,
  }
}
const observed = (transfer: ObservedTransfer) => ({
  type: 'TransferObserved' as const,
  data: { ...transfer, observedAt: NOW },
})
const confirmed = ({ blockNumber, blockHash }: ObservedTransfer, confirmations: number) => ({
  type: 'TransferConfirmed' as const,
  data: { blockNumber, blockHash, confirmations, confirmedAt: NOW },
})
const orphaned = ({ blockNumber, blockHash }: ObservedTransfer, wasConfirmed = false) => ({
  type: 'TransferOrphaned' as const,
  data: { blockNumber, blockHash, wasConfirmed, orphanedAt: NOW },
})
const record = (transfer: ObservedTransfer): TransferCommand => ({ type: 'RecordTransfer', transfer, now: NOW })
const confirm = (head: number): TransferCommand => ({
  type: 'ConfirmTransfer',
  head,
  requiredConfirmations: 3,
  now: NOW,
})
const orphan: TransferCommand = { type: 'OrphanTransfer', now: NOW }

const given = givenOf(transferDecider)

t.test('a transfer is recorded once for a block, and again after a reorg moved it', async (t) => {
  given()
    .when(record(seen(7)))
    .expect(t, observed(seen(7)))
  given(observed(seen(7)))
    .when(record(seen(7)))
    .expect(t)
  given(observed(seen(7)), confirmed(seen(7), 3))
    .when(record(seen(7)))
    .expect(t)
  given(observed(seen(7)), orphaned(seen(7)))
    .when(record(seen(7)))
    .expect(t, observed(seen(7)))
  given(observed(seen(7)), orphaned(seen(7)))
    .when(record(seen(8)))
    .expect(t, observed(seen(8)))
  given(observed(seen(7)), confirmed(seen(7), 3))
    .when(record(seen(7, '0xb7')))
    .expect(t, orphaned(seen(7), true), observed(seen(7, '0xb7')))
})

t.test('it is confirmed once, at the required confirmations of its block', async (t) => {
  given(observed(seen(7)))
    .when(confirm(8))
    .expect(t)
  given(observed(seen(7)))
    .when(confirm(9))
    .expect(t, confirmed(seen(7), 3))
  given(observed(seen(7)), confirmed(seen(7), 3))
    .when(confirm(10))
    .expect(t)
  given(observed(seen(7)), orphaned(seen(7)))
    .when(confirm(10))
    .expect(t)
  given(observed(seen(7)), orphaned(seen(7)), observed(seen(8)))
    .when(confirm(9))
    .expect(t)
})

t.test('a block that left the chain orphans it once, even if it was confirmed', async (t) => {
  given().when(orphan).expect(t)
  given(observed(seen(7)))
    .when(orphan)
    .expect(t, orphaned(seen(7)))
  given(observed(seen(7)), confirmed(seen(7), 3))
    .when(orphan)
    .expect(t, orphaned(seen(7), true))
  given(observed(seen(7)), orphaned(seen(7)))
    .when(orphan)
    .expect(t)
})

t.test('its place in lists is that of its first observation, and sorts by time among ids', (t) => {
  const id = transferId({ chainId: 1, walletId: 'wal_1', direction: 'in', hash: '0x1', logOfTransaction: 3 })
  const later = { ...observed(seen(8)).data, observedAt: '2026-11-23T13:00:00.000Z' }
  const events = [observed(seen(7)), orphaned(seen(7)), { type: 'TransferObserved' as const, data: later }]
  const places = events.map((_, n) => {
    const { state } = given(...events.slice(0, n + 1))
    const context = { id, tenantId: 'acme', version: 1, recordedAt: NOW }
    return observedTransferAggregate.project(transferDecider.initialState, state, context).rows[0]?.row.place
  })
  t.equal(new Set(places).size, 1)
  const time = Date.parse(NOW).toString(16).padStart(12, '0')
  t.equal(places[0], `${time.slice(0, 8)}-${time.slice(8)}-7007-8000-${id.slice(-12)}`)
  t.end()
})

t.test('its place follows the order of the logs of its block, however many there are', (t) => {
  const logs = [null, 0, 1, 15, 16, 4_093, 4_094, 4_095, 4_096, 8_191, 8_192, 65_535, 65_536, 1_000_000]
  const places = logs.map((logIndex, logOfTransaction) => {
    const id = transferId({ chainId: 1, walletId: 'wal_1', direction: 'in', hash: '0x1', logOfTransaction })
    const { state } = given(observed({ ...seen(7), logIndex }))
    const context = { id, tenantId: 'acme', version: 1, recordedAt: NOW }
    return observedTransferAggregate.project(transferDecider.initialState, state, context).rows[0]?.row.place
  })
  t.strictSame([...places].sort(), places)
  t.end()
})

t.test('the id follows from what identifies the transfer, and from nothing else', (t) => {
  const name = { chainId: 1, walletId: 'wal_1', direction: 'in', hash: '0x1', logOfTransaction: null } as const
  t.equal(transferId(name), transferId({ ...name }))
  t.match(transferId(name), new RegExp(derivedIdPattern('obs')))
  const others = [
    { chainId: 2 },
    { walletId: 'wal_2' },
    { direction: 'out' as const },
    { hash: '0x2' },
    { logOfTransaction: 0 },
  ]
  t.equal(new Set([name, ...others.map((other) => ({ ...name, ...other }))].map(transferId)).size, others.length + 1)
  t.end()
})

const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
const moved = (from: string, to: string, amount: bigint, logIndex: number, contract = TOKEN) => ({
  address: contract,
  topics: [TRANSFER_TOPIC, topic(from), topic(to)],
  data: `0x${amount.toString(16).padStart(64, '0')}`,
  logIndex,
})
function sent(transaction: Partial<BlockTransaction> & { readonly hash: string }): BlockTransaction {
  return {
    from: ALICE,
    to: BOB,
    nonce: 0,
    value: 0n,
    input: '0x',
    status: 'success',
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    offer: null,
    logs: [],
    authorizations: [],
    ...transaction,
  }
}
function block(...transactions: BlockTransaction[]): Block {
  return { number: 1, hash: '0xb1', parentHash: '0xb0', timestamp: 1, baseFeePerGas: 1n, transactions }
}
const touched = (address: string, asset = ETH, type: TouchedWallet['type'] = 'hd'): TouchedWallet => ({
  walletId: `${address.slice(2, 3)}-${type}`,
  tenantId: 'acme',
  address,
  asset,
  type,
  isUnopened: false,
})
const WATCH = 'watch' as const

function found(transactions: BlockTransaction[], wallets: TouchedWallet[], own = new Map()) {
  return transfersIn([block(...transactions)], wallets, own).map(
    ({ wallet, direction, hash, amount, logIndex, transactionId }) =>
      [wallet.walletId, direction, hash, Number(amount), logIndex, transactionId] as const,
  )
}

t.test('both sides of a transfer are found, of currency and of tokens, for each wallet with the address', (t) => {
  const native = sent({ hash: '0x1', value: 7n })
  const token = sent({ hash: '0x2', to: TOKEN, logs: [moved(BOB, CAROL, 5n, 40), moved(BOB, ALICE, 6n, 41)] })
  const wallets = [touched(BOB), touched(BOB, ETH, WATCH), touched(BOB, USDC), touched(ALICE, USDC)]
  t.strictSame(found([native, token], wallets), [
    ['b-hd', 'in', '0x1', 7, null, null],
    ['b-watch', 'in', '0x1', 7, null, null],
    ['b-hd', 'out', '0x2', 5, 40, null],
    ['b-hd', 'out', '0x2', 6, 41, null],
    ['a-hd', 'in', '0x2', 6, 41, null],
  ])
  t.end()
})

t.test('nothing is found of zero amounts, unknown tokens, reverted transactions and transfers to oneself', (t) => {
  const poison = [moved(BOB, CAROL, 0n, 1), moved(BOB, CAROL, 9n, 2, `0x${'e'.repeat(40)}`)]
  const reverted = sent({ hash: '0x2', value: 7n, status: 'reverted', logs: [moved(BOB, CAROL, 5n, 3)] })
  const self = sent({ hash: '0x3', from: BOB, value: 7n, logs: [moved(BOB, BOB, 5n, 4)] })
  const nft = { ...moved(BOB, CAROL, 5n, 5), topics: [TRANSFER_TOPIC, topic(BOB), topic(CAROL), topic('0x7')] }
  const transactions = [sent({ hash: '0x1', logs: [...poison, nft] }), reverted, self]
  t.strictSame(found(transactions, [touched(BOB), touched(BOB, USDC)]), [])
  t.end()
})

t.test('currency for a created contract left its sender', (t) => {
  t.strictSame(found([sent({ hash: '0x1', to: null, value: 7n })], [touched(ALICE)]), [
    ['a-hd', 'out', '0x1', 7, null, null],
  ])
  t.end()
})

t.test('what the record of an own transaction shows is not found again; what else it moves names it', (t) => {
  const own = (assetId: string) => new Map([['0x1', { id: 'tx_1', assetId }]])
  const transfer = [sent({ hash: '0x1', to: TOKEN, logs: [moved(ALICE, BOB, 5n, 1)] })]
  const wallets = [touched(ALICE, USDC), touched(ALICE, USDC, WATCH), touched(BOB, USDC)]
  t.strictSame(found(transfer, wallets, own(USDC.assetId)), [
    ['a-watch', 'out', '0x1', 5, 1, null],
    ['b-hd', 'in', '0x1', 5, 1, null],
  ])
  const call = [sent({ hash: '0x1', value: 3n, logs: [moved(ALICE, BOB, 5n, 1), moved(BOB, ALICE, 4n, 2)] })]
  t.strictSame(found(call, [touched(ALICE), touched(ALICE, USDC)], own(ETH.assetId)), [
    ['a-hd', 'out', '0x1', 5, 1, 'tx_1'],
    ['a-hd', 'in', '0x1', 4, 2, 'tx_1'],
  ])
  t.strictSame(
    found([sent({ hash: '0x9', value: 3n })], [touched(ALICE)], own(ETH.assetId)),
    [['a-hd', 'out', '0x9', 3, null, null]],
    'a transaction that another program signed with the key is found',
  )
  t.end()
})

t.test('the value is in cents, and unknown without a price', (t) => {
  const price = { usd: '3012.345', at: NOW }
  t.strictSame(valuationOf(1_500_000n, 6, price), { usd: '4518.52', price: '3012.345', priceAt: NOW })
  t.equal(valuationOf(1_500_000n, 6, undefined), null)
  t.end()
})

t.test('a deposit notifies the owner of the key; a watch wallet what its settings say', (t) => {
  const worth = (usd: string) => ({ usd, price: '1', priceAt: NOW })
  const watch = (settings: Partial<NonNullable<Parameters<typeof noticesOf>[0]['notifications']>>) => ({
    type: 'watch' as const,
    status: 'active' as const,
    isUnopened: false,
    notifications: {
      largeTransfers: false,
      incomingTransactions: false,
      largeTransferThresholdUsd: '10000',
      ...settings,
    },
  })
  const keyed = { type: 'hd', status: 'active', notifications: null, isUnopened: false } as const
  t.strictSame(noticesOf(keyed, 'in', null), ['deposit'])
  t.strictSame(noticesOf({ ...keyed, status: 'archived' }, 'in', null), ['deposit'])
  t.strictSame(noticesOf(keyed, 'out', worth('99999.00')), [])
  t.strictSame(noticesOf(watch({}), 'in', worth('99999.00')), [])
  const both = watch({ incomingTransactions: true, largeTransfers: true })
  t.strictSame(noticesOf(both, 'in', worth('9999.99')), ['incoming'])
  t.strictSame(noticesOf(both, 'in', worth('10000.00')), ['incoming', 'large_transfer'])
  t.strictSame(noticesOf(both, 'out', worth('10000.00')), ['large_transfer'])
  t.strictSame(noticesOf(both, 'out', worth('9999.99')), [])
  t.strictSame(noticesOf(both, 'out', null), [], 'a transfer of unknown value is never large')
  t.strictSame(noticesOf({ ...both, status: 'archived' }, 'in', worth('10000.00')), [])
  const precise = watch({ largeTransfers: true, largeTransferThresholdUsd: '2500.505' })
  t.strictSame(noticesOf(precise, 'in', worth('2500.50')), [])
  t.strictSame(noticesOf(precise, 'in', worth('2500.51')), ['large_transfer'])
  t.end()
})
