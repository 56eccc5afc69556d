/** Archiving on a real PostgreSQL: what prevents it, and that no concurrent transfer is accepted. */

import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { WalletGuardRefused } from '../../src/event-log/append.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { archiveWallet } from '../../src/wallets/archive-wallet.ts'
import { readWallet } from '../../src/wallets/read-wallets.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import { NATIVE, newTransactionId, TEST_CHAIN, transferIntent } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ACME, anotherLog, makeWallet, type WalletParts, withWallets } from '../support/wallet-parts.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const NOW = '2026-01-01T00:00:00.000Z'

async function setBalance(
  { pool }: WalletParts,
  walletId: string,
  balance: bigint,
  assetId = NATIVE.assetId,
): Promise<void> {
  await pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     VALUES ($1, $2, 'acme', $3, 1, '0x', now()) ON CONFLICT (wallet_id, asset_id) DO UPDATE SET balance = excluded.balance`,
    [walletId, assetId, balance.toString()],
  )
}

/** Accepts a transfer like the transfer route. Returns its id. */
async function transfer(log: EventLog, walletId: string, from: string): Promise<string> {
  const id = newTransactionId()
  const unknown = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
  const intent = transferIntent({ walletId, from })
  const requested = decideOn(
    transactionAggregate,
    unknown,
    { type: 'RequestTransaction', opening: 'TransferRequested', intent },
    { metadata: ACME, now: NOW },
  )
  if (requested === null) throw new Error('the request produced no event')
  await log.append({ decisions: [requested], guards: { wallet: { walletId, require: 'active' } } })
  return id
}

t.test('a pending transaction keeps a wallet, mined or not, until it is final', async (t: Test) => {
  const parts = await withWallets(t)
  const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
  await setBalance(parts, wallet.walletId, 1_000_000n)
  const id = await transfer(parts.log, wallet.walletId, wallet.address ?? '')
  const refused = { code: 'wallet_has_pending_transactions', details: { pending: 1 } }
  await t.rejects(archiveWallet(parts, wallet, { force: true, metadata: ACME }), refused)

  const signed = {
    nonce: 0,
    hash: '0xaa',
    rawTransaction: '0x02',
    fees: { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
    signedAt: NOW,
  }
  const inclusion = {
    hash: '0xaa',
    blockNumber: 7,
    blockHash: '0xb7',
    blockTimestamp: NOW,
    succeeded: true,
    logs: null,
    gasUsed: 21_000n,
    effectiveGasPrice: 2n,
    minedAt: NOW,
  }
  const context = { metadata: ACME }
  await parts.log.execute(transactionAggregate, id, { type: 'RecordSignature', signed }, context)
  await parts.log.execute(transactionAggregate, id, { type: 'RecordInclusion', inclusion }, context)
  await t.rejects(archiveWallet(parts, wallet, { force: true, metadata: ACME }), refused)

  await parts.log.execute(
    transactionAggregate,
    id,
    { type: 'Settle', confirmations: 2, revertReason: '', now: NOW },
    context,
  )
  await archiveWallet(parts, wallet, { force: true, metadata: ACME })
  t.match(await readWallet(parts, OWNER, wallet.walletId), { status: 'archived' })
})

t.test(
  'a wallet with a balance is not archived, with the assets in the refusal; an empty one is archived once',
  async (t: Test) => {
    const parts = await withWallets(t)
    const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
    await setBalance(parts, wallet.walletId, 1_500_000_000_000_000_000n)
    await setBalance(
      parts,
      wallet.walletId,
      7n,
      `eip155:${TEST_CHAIN}/erc20:0x5FbDB2315678afecb367f032d93F642f64180aa3`,
    )
    const refused = await t.rejects(archiveWallet(parts, wallet, { force: false, metadata: ACME }), {
      code: 'wallet_has_balance',
    })
    matchExactly(t, refused, {
      details: {
        balances: [
          { asset_id: `eip155:${TEST_CHAIN}/erc20:0x5FbDB2315678afecb367f032d93F642f64180aa3`, balance: '7' },
          { asset_id: NATIVE.assetId, currency: 'ETH', balance: '1.5' },
        ],
      },
    })
    await parts.pool.query('UPDATE balances SET balance = 0')
    const twice = [0, 1].map(() => archiveWallet(parts, wallet, { force: false, metadata: ACME }))
    await Promise.all(twice)
    const { rows } = await parts.pool.query(`SELECT type FROM events WHERE type = 'WalletArchived'`)
    t.equal(rows.length, 1)
  },
)

t.test('a watch wallet is archived whatever its balance', async (t: Test) => {
  const parts = await withWallets(t)
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const place = { network: 'ethereum', environment: 'mainnet', chainId: TEST_CHAIN } as const
  const { id } = await watchWallet(parts, { ...place, address, label: '', notifications: {} }, { metadata: ACME })
  await setBalance(parts, id, 1n)
  await archiveWallet(parts, await parts.findWallet(OWNER, id), { force: false, metadata: ACME })
  t.match(await readWallet(parts, OWNER, id), { status: 'archived' })
})

t.test('either a transfer or the archiving of its wallet is accepted, in either order', async (t: Test) => {
  const parts = await withWallets(t)
  const logs = [parts.log, anotherLog(parts), anotherLog(parts)]
  const seen = { archived: 0, kept: 0, accepted: 0 }
  const isOver = (round: number) => round >= 30 && seen.archived > 0 && seen.kept > 0
  // Longer pauses in the later rounds, until both orders were seen: on a slow machine one of them may be rare.
  for (let round = 0; round < 200 && !isOver(round); round += 1) {
    const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
    const { walletId, address } = wallet
    await setBalance(parts, walletId, 10n ** 18n)
    const archiving = pause(randomInt(round % 2 === 0 ? 6 + round : 6)).then(() =>
      archiveWallet(parts, wallet, { force: true, metadata: ACME }),
    )
    const outcome = archiving.then(
      () => 'archived' as const,
      (error) => {
        t.match(error, { code: 'wallet_has_pending_transactions' })
        return 'kept' as const
      },
    )
    await pause(randomInt(round % 2 === 0 ? 3 : 25 + 2 * round))
    const transfers = await Promise.allSettled(logs.map((log) => transfer(log, walletId, address ?? '')))
    const accepted = transfers.filter(({ status }) => status === 'fulfilled').length
    for (const settled of transfers) {
      if (settled.status === 'rejected') t.ok(settled.reason instanceof WalletGuardRefused)
    }
    const archivedOrKept = await outcome
    t.equal(accepted, archivedOrKept === 'archived' ? 0 : logs.length)
    seen[archivedOrKept] += 1
    seen.accepted += accepted
  }
  t.comment(JSON.stringify(seen))
  t.ok(seen.archived > 0 && seen.kept > 0, 'both outcomes occurred')
})
