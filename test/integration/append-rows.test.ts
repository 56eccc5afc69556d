/**
 * Rows only with their events, on a real PostgreSQL: what an attacker cannot write who has the database login of a process.
 */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { nativeAsset } from '../../src/core/assets.ts'
import { NETWORKS } from '../../src/core/networks.ts'
import { decideOn, unopened } from '../../src/event-log/aggregate.ts'
import { cidOf } from '../../src/nft/metadata/cid.ts'
import { contentOf } from '../../src/nft/metadata/content.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { loginAs } from '../support/database-login.ts'
import { NATIVE, newTransactionId, TEST_CHAIN, transferIntent, withLog } from '../support/log.ts'
import {
  append,
  decided,
  heldOf,
  METADATA,
  NOW,
  REFUSED,
  REQUEST,
  type Sent,
  sent,
  withTransfers,
} from '../support/raw-append.ts'

const FEES = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
const bytes = (nonce: number) => ({ nonce, hash: `0x${nonce}`, rawTransaction: '0x02', fees: FEES, signedAt: NOW })

t.test('the rows of 600 transactions in one append do not hold up a lane', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, newTransactionId(), REQUEST)] })
  const [row] = own.rows.transactions ?? []
  const many = Array.from({ length: 600 }, (_, n) => ({ ...row, transaction_id: `tx_${n}` }))
  await t.rejects(append(api, { ...own, rows: { transactions: [...(own.rows.transactions ?? []), ...many] } }), REFUSED)
  await t.rejects(append(api, { guards: {}, events: [], rows: { transactions: many } }), REFUSED)
  t.equal((await pool.query('SELECT FROM transactions')).rowCount, 1)
  await t.resolves(append(api, own), 'the row of its own event is accepted')
})

t.test('an event of a transaction does not come without its row', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, newTransactionId(), REQUEST)] })
  await t.rejects(append(api, { ...own, rows: {} }), REFUSED)
})

t.test('the row of another transaction, sent twice, is not the row of an event', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const decisions = [await decided(log, 'tx_one', REQUEST), await decided(log, 'tx_two', REQUEST)]
  const own = sent({ decisions })
  const [one, two] = own.rows.transactions ?? []
  for (const transactions of [[one, one], [one], [two, two, one], []])
    await t.rejects(append(api, { ...own, rows: { transactions: transactions as Record<string, unknown>[] } }))
  t.equal((await pool.query('SELECT FROM transactions')).rowCount, 1)
  await t.resolves(append(api, own))
})

t.test('an append of nothing changes nothing', async (t: Test) => {
  const { pool, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const held = await heldOf(pool)
  await append(api, { guards: {}, events: [], rows: {} })
  await append(api, { guards: { holds: [], releases: [], idempotency: [] }, events: [], rows: { transactions: [] } })
  t.strictSame(await heldOf(pool), held)
})

t.test('a new row has the wallet, lane, amount and tenant of its event, and no nonce', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, newTransactionId(), REQUEST)] })
  for (const change of [
    { wallet_id: 'wal_2' },
    { tenant_id: 'other' },
    { from_address: '0xother' },
    { to_address: '0xother' },
    { chain_id: 1 },
    { amount: '2' },
    { asset_id: 'eip155:1/slip44:60' },
    { nonce: 7 },
    { hash: '0x7' },
    { state: 'submitted' },
    { fee_estimated: '1' },
    { version: 2 },
  ])
    await t.rejects(
      append(api, { ...own, rows: { transactions: [{ ...own.rows.transactions?.[0], ...change }] } }),
      REFUSED,
      JSON.stringify(change),
    )
})

t.test('a later row changes only the columns that its event may change', async (t: Test) => {
  const { pool, log, url, ids } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const [id = ''] = ids
  const speedUp = { type: 'RequestSpeedUp', gasPriority: 'high', now: NOW } as const
  const own = sent({ decisions: [await decided(log, id, speedUp)] })
  const [row] = own.rows.transactions ?? []
  for (const change of [{ nonce: 7 }, { state: 'confirmed' }, { to_address: '0xthief' }, { tenant_id: 'other' }])
    await t.rejects(append(api, { ...own, rows: { transactions: [{ ...row, ...change }] } }), REFUSED)
  const { rows } = await pool.query('SELECT to_jsonb(r) AS row FROM transactions r')
  const whole = { ...rows[0].row, version: 2 }
  for (const change of [{ to_address: '0xthief' }, { state: 'confirmed' }, { version: 3 }])
    await t.rejects(append(api, { ...own, rows: { transactions: [{ ...whole, ...change }] } }), REFUSED)
  await t.resolves(append(api, { ...own, rows: { transactions: [whole] } }), 'the whole row may be sent too')
})

t.test('the API cancels nothing that is signed, and settles nothing', async (t: Test) => {
  const { pool, log, url, ids } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const [id = ''] = ids
  const run = (command: TransactionCommand) => log.execute(transactionAggregate, id, command, { metadata: METADATA })
  /** Like the decider, without its rules. */
  const forged = async (): Promise<Sent> => {
    const loaded = await log.load(transactionAggregate, id)
    const decide = () => [{ type: 'TransactionCancelled', data: { hash: null, cancelledAt: NOW } } as const]
    const made = decideOn({ ...transactionAggregate, decide }, loaded, REQUEST, { metadata: METADATA, now: NOW })
    return sent({ decisions: made === null ? [] : [made] })
  }
  await run({ type: 'RecordSignature', signed: bytes(7) })
  await t.rejects(append(api, await forged()), REFUSED, 'signed')
  await run({ type: 'RecordSubmission', hash: '0x7', now: NOW })
  await t.rejects(append(api, await forged()), REFUSED, 'submitted')
  const block = { blockNumber: 7, blockHash: '0xb7', blockTimestamp: NOW, minedAt: NOW }
  const inclusion = { hash: '0x7', ...block, succeeded: true, logs: null, gasUsed: 21_000n, effectiveGasPrice: 2n }
  await run({ type: 'RecordInclusion', inclusion })
  await t.rejects(append(api, await forged()), REFUSED, 'mined')
  await run({ type: 'Settle', confirmations: 3, revertReason: '', now: NOW })
  await t.rejects(append(api, await forged()), REFUSED, 'confirmed')
})

t.test('an old snapshot does not show what an event may follow', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, newTransactionId(), REQUEST)] })
  const client = await api.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await t.rejects(append(client as unknown as Pool, own), REFUSED)
  await client.query('ROLLBACK')
  client.release()
})

t.test('content is stored under its own hash', async (t: Test) => {
  const { pool, url } = await withLog(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const { cid, text } = contentOf({ name: 'Lighthouse 🏦' })
  const rows = (content: string) => ({ nft_metadata: [{ cid, content }] })
  await t.rejects(append(api, { guards: {}, events: [], rows: rows('{}') }), REFUSED)
  await t.resolves(append(api, { guards: {}, events: [], rows: rows(text) }))
})

t.test('content that repeats in one append does not pass under another hash', async (t: Test) => {
  const { url, pool } = await withLog(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const { cid, text: content } = contentOf({ name: 'Ticket' })
  const other = contentOf({ name: 'Other' })
  const rows = (...items: Record<string, unknown>[]): Sent => ({
    guards: {},
    events: [],
    rows: { nft_metadata: items },
  })
  await t.rejects(append(api, rows({ cid, content }, { cid, content }, { cid: other.cid, content })), REFUSED)
  await t.rejects(append(api, rows({ cid, content }, { cid, content: other.text })), REFUSED)
  await t.rejects(append(api, rows({ cid, content }, { cid })), REFUSED, 'a row without content')
  await t.resolves(append(api, rows({ cid, content }, { cid: other.cid, content: other.text })))
})

t.test('the database computes the same content identifiers as the program', async (t: Test) => {
  const { pool } = await withLog(t)
  const texts = Array.from({ length: 2_000 }, (_, n) => `${'é🏦"\\'.repeat(n % 7)}${n}`)
  const { rows } = await pool.query('SELECT cid_of(content) AS cid FROM unnest($1::text[]) AS content', [texts])
  t.strictSame(
    rows.map(({ cid }) => cid),
    texts.map((text) => cidOf(Buffer.from(text))),
  )
})

t.test('rows of a chain come from the holder of its lease', async (t: Test) => {
  const { pool, url } = await withLog(t)
  const follower = await loginAs(t, { pool, url }, 'follower')
  const rows = { chain_cursors: [{ chain_id: TEST_CHAIN, number: 7, hash: '0x7', head: 7, updated_at: NOW }] }
  await t.rejects(append(follower, { guards: {}, events: [], rows }), REFUSED)
  const taken = await follower.query('SELECT acquire_lease($1, $2, 60000) AS fence', [`follow-${TEST_CHAIN}`, 'f'])
  const fences = [{ commit: 0, name: `follow-${TEST_CHAIN}`, fence: taken.rows[0].fence }]
  await t.resolves(append(follower, { guards: { fences }, events: [], rows }))
})

t.test('no process locks the lane of another with the fence of an append', async (t: Test) => {
  const { pool, url } = await withLog(t)
  const submitter = await loginAs(t, { pool, url }, 'submitter')
  await pool.query("SELECT acquire_lease('sign-1-0xa', 'signer', 60000)")
  const fences = [{ commit: 0, name: 'sign-1-0xa', fence: 1 }]
  const { rows } = await pool.query("SELECT fence FROM leases WHERE name = 'sign-1-0xa'")
  await t.rejects(
    append(submitter, { guards: { fences: [{ ...fences[0], fence: rows[0].fence }] }, events: [], rows: {} }),
    REFUSED,
  )
})

t.test('a wallet that is relabelled keeps its other columns', async (t: Test) => {
  const { pool, log, url } = await withLog(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const { network, environment, from: address } = transferIntent()
  const notifications = { largeTransfers: false, incomingTransactions: false, largeTransferThresholdUsd: '10000' }
  const watch = { network, environment, chainId: TEST_CHAIN, address, label: 'some', notifications, startedAt: NOW }
  const context = { metadata: METADATA, now: NOW }
  const started = decideOn(walletAggregate, unopened(walletAggregate, 'wal_9'), { type: 'StartWatch', watch }, context)
  await log.append({ decisions: started === null ? [] : [started] })
  const loaded = await log.load(walletAggregate, 'wal_9')
  const relabelled = decideOn(
    walletAggregate,
    loaded,
    { type: 'Revise', revision: { label: 'other' }, now: NOW },
    context,
  )
  const own = sent({ decisions: relabelled === null ? [] : [relabelled] })
  const [row] = own.rows.wallets ?? []
  for (const change of [{ address: '0xthief' }, { tenant_id: 'other' }, { status: 'archived' }, { wallet_id: 'wal_8' }])
    await t.rejects(
      append(api, { ...own, rows: { wallets: [{ ...row, ...change }] } }),
      REFUSED,
      JSON.stringify(change),
    )
  await t.resolves(append(api, own))
})

t.test('the native currency of each network is the one that holds name', async (t: Test) => {
  const { pool } = await withLog(t)
  for (const network of NETWORKS) {
    const { rows } = await pool.query("SELECT native_asset($1, '7') AS asset", [network])
    t.equal(rows[0].asset, nativeAsset(network, 7).assetId)
  }
  t.equal(NATIVE.assetId, nativeAsset('ethereum', TEST_CHAIN).assetId)
})
