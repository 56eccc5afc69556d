/** What comes to the address of a wallet on a network where its key has no wallet. */
import t from 'tap'
import { type TouchedWallet, transfersIn } from '../../src/activity/transfers-in.ts'
import { noticesOf } from '../../src/activity/valuation.ts'
import type { BlockTransaction } from '../../src/chain/blocks.ts'

const [ALICE, BOB] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`) as [string, string]
const POL = { assetId: 'eip155:137/slip44:966', symbol: 'POL', decimals: 18, contract: null }

function wallet(address: string, isUnopened: boolean): TouchedWallet {
  return { walletId: `wal_${address.slice(2, 3)}`, tenantId: 'acme', address, asset: POL, type: 'hd', isUnopened }
}

function found(from: string, to: string, wallets: readonly TouchedWallet[]) {
  const transaction: BlockTransaction = {
    ...{ hash: '0x1', from, to, nonce: 0, value: 7n, input: '0x', status: 'success', gasUsed: 1n },
    ...{ effectiveGasPrice: 1n, offer: null, logs: [], authorizations: [] },
  }
  const place = { number: 1, hash: '0xb1', parentHash: '0xb0', timestamp: 1, baseFeePerGas: 1n }
  return transfersIn([{ ...place, transactions: [transaction] }], wallets, new Map()).map(
    ({ wallet: { walletId }, direction, amount }) => [walletId, direction, amount],
  )
}

t.test('it is found; what another program sends from there with the key is not', async (t) => {
  const wallets = [wallet(BOB, true), wallet(ALICE, false)]
  t.strictSame(found(ALICE, BOB, wallets), [
    ['wal_a', 'out', 7n],
    ['wal_b', 'in', 7n],
  ])
  t.strictSame(found(BOB, ALICE, wallets), [['wal_a', 'in', 7n]])
})

t.test('it is a deposit that says so, also for an archived wallet', async (t) => {
  const keyed = { type: 'hd', status: 'archived', notifications: null, isUnopened: true } as const
  t.strictSame(noticesOf(keyed, 'in', null), ['deposit', 'unopened'])
  t.strictSame(noticesOf(keyed, 'out', null), [])
  t.strictSame(noticesOf({ ...keyed, isUnopened: false }, 'in', null), ['deposit'])
})
