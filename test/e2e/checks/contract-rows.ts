/** The wallet and transfer rows of the contract, with exactly its request bodies. */
import type { Test } from 'tap'
import { NATIVE_SYMBOL, NETWORKS, type Network } from '../../../src/core/networks.ts'
import { told } from '../../support/client.ts'
import {
  AS_LONG_AS_MAY_BE,
  newAddress,
  type Sandbox,
  sendTransfer,
  type Transaction,
} from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-f]{64}$/

export async function checkContractRows(t: Test, sandbox: Sandbox): Promise<void> {
  await t.test('the wallet rows of the contract hold', (t) => walletRows(t, sandbox))
  await t.test('the transfer rows of the contract hold on every network', (t) =>
    Promise.all(NETWORKS.map((network) => transferRows(t, sandbox, network))),
  )
}

async function walletRows(t: Test, { client }: Sandbox): Promise<void> {
  const create = { type: 'hd', network: 'ethereum', label: 'My Wallet', environment: 'mainnet' }
  const created = await client.post('/v1/wallets/create', create, AS_LONG_AS_MAY_BE)
  t.equal(created.status, 201)
  t.match(created.body, {
    status: 'success',
    data: {
      wallet_id: /^wal_/,
      address: ADDRESS,
      type: 'hd',
      network: 'ethereum',
      label: 'My Wallet',
      created_at: ISO_UTC,
    },
  })

  const watched = await client.post('/v1/wallets/watch', {
    address: newAddress(),
    network: 'polygon',
    label: 'Cold storage',
    notifications: { large_transfers: true, incoming_transactions: true },
  })
  t.equal(watched.status, 201)
  t.strictSame(Object.keys(watched.body.data).sort(), ['address', 'label', 'network', 'type', 'wallet_id'])
  t.match(watched.body.data, { type: 'watch', network: 'polygon', label: 'Cold storage' })

  const wrong = await client.post('/v1/wallets/create', { ...create, network: 'solana' })
  t.equal(wrong.status, 422)
  matchExactly(t, wrong.body, {
    status: 'error',
    message: String,
    errors: [{ type: 'validation_error', field: 'network' }],
  })
  for (const network of NETWORKS) t.match(wrong.body.errors?.[0]?.message, network)

  const { wallet_id: walletId } = created.body.data
  const list = await client.get('/v1/wallets')
  const listed = list.body.data.wallets as { wallet_id: string }[]
  t.same(listed.map(({ wallet_id }) => wallet_id).slice(0, 2), [watched.body.data.wallet_id, walletId])
  const detail = await client.get(`/v1/wallets/${walletId}`)
  t.match(detail.body.data, { ...created.body.data, status: 'active' })
  const balance = await client.get(`/v1/wallets/${walletId}/balance`)
  t.match(balance.body.data, { balance: '0', currency: 'ETH', usd_value: /^\d+\.\d\d$/, updated_at: ISO_UTC })

  const removed = await client.remove(`/v1/wallets/${walletId}`)
  matchExactly(t, [removed.status, removed.body.data.status], [200, 'archived'])
  t.equal((await client.get(`/v1/wallets/${walletId}`)).status, 404)
}

async function transferRows(t: Test, sandbox: Sandbox, network: Network): Promise<void> {
  const { client, rpc } = sandbox
  const native = NATIVE_SYMBOL[network]
  const wallet = await sandbox.wallet(client, network, { [native]: '3', USDC: '40' })
  const to = newAddress()
  const sent = await client.post(`${wallet.path}/transfer`, {
    to,
    amount: '0.5',
    asset: native,
    gas_priority: 'medium',
  })
  t.equal(sent.status, 202)
  t.match(sent.body, {
    status: 'success',
    data: { transaction_id: /^tx_/, status: 'pending', estimated_completion_time: ISO_UTC },
  })
  const { transaction_id, hash } = sent.body.data as Transaction
  t.ok(hash === null || HASH.test(hash), 'the hash is set, or signing took longer than the wait')
  const ofToken = await sendTransfer(client, wallet, { to, amount: '12.25', asset: 'USDC', gas_priority: 'medium' })

  const read: Transaction = await client.settle(sent)
  t.match(read, {
    transaction_id,
    status: 'confirmed',
    hash: hash ?? HASH,
    block_number: Number,
    confirmations: Number,
  })
  t.ok(Number.isInteger(read.block_number) && read.confirmations >= 2)
  const token: Transaction = await client.settle(ofToken)
  t.equal(token.status, 'confirmed')

  const receipts = await Promise.all([read, token].map((one) => rpc(network, 'eth_getTransactionReceipt', [one.hash])))
  matchExactly(t, receipts, [{ status: '0x1', blockNumber: `0x${read.block_number?.toString(16)}` }, { status: '0x1' }])
  t.equal(BigInt((await rpc(network, 'eth_getBalance', [to, 'latest'])) as string), 5n * 10n ** 17n)
  const watch = await client.post('/v1/wallets/watch', { address: to, network, label: 'Recipient' })
  const held = await client.get(`/v1/wallets/${watch.body.data.wallet_id}/balance?asset=USDC`)
  t.match(held.body.data, { balance: '12.25', currency: 'USDC', usd_value: '12.25' })

  const left = await client.get(`${wallet.path}/balance?include=tokens`)
  matchExactly(t, left.body.data, {
    pending_out: '0',
    assets: [
      { currency: native },
      { currency: 'USDC', balance: '27.75' },
      { currency: 'USDT', balance: '0' },
      { currency: `W${native}`, balance: '0' },
    ],
  })
  const kept = await client.remove(wallet.path)
  t.strictSame([kept.status, ...told(kept)], [409, '- wallet_has_balance'], 'a wallet with funds is not archived')
}
