/** Batches of wallets, and one key on several chains, on a real PostgreSQL. */
import t from 'tap'
import type { BalanceChain } from '../../src/balances/chain.ts'
import { findTouched } from '../../src/balances/holder-reads.ts'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import type { BursarError } from '../../src/core/errors.ts'
import { adoptKey } from '../../src/wallets/adopt-key.ts'
import { keyIndexesAggregate } from '../../src/wallets/key-indexes.ts'
import { type NetworksRequest, openNetworks, readNetworks } from '../../src/wallets/open-networks.ts'
import { readWallet } from '../../src/wallets/read-wallets.ts'
import { readWalletBatch, requestWallets, type WalletsRequest } from '../../src/wallets/request-wallets.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import {
  ACME,
  beat,
  hdRequest,
  makeWallet,
  testSigner,
  type WalletParts,
  withWallets,
} from '../support/wallet-parts.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const POLYGON = { network: 'polygon', environment: 'mainnet', chainId: 1000137 } as const
const BINANCE = { network: 'binance', environment: 'mainnet', chainId: 1000056 } as const
const OPEN: NetworksRequest = { places: [POLYGON, BINANCE], label: null }
const NETWORKS = ['polygon', 'binance']

function metadata(key: string, fingerprint = 'f') {
  return { ...ACME, idempotency: { key, fingerprint } }
}

async function addressAt(index: number): Promise<string> {
  return (await testSigner().createKey({ kind: 'hd', tenantId: 'acme', index })).address
}

function batchOf(externalIds: readonly (string | null)[]): WalletsRequest {
  const { label: _, externalId: __, ...common } = hdRequest()
  return { ...common, items: externalIds.map((externalId, n) => ({ label: `wallet ${n}`, externalId })) }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

/** A wallet, and those that were opened from it, with their keys. */
async function withOpened(parts: WalletParts) {
  const walletId = await makeWallet(parts)
  const wallet = await parts.findWallet(OWNER, walletId)
  await openNetworks(parts, wallet, OPEN, { metadata: ACME })
  const opened = await readNetworks(parts, OWNER, wallet, NETWORKS)
  const factsOf = composeRecordedWallets(parts)
  for (const { wallet_id } of opened) await adoptKey({ log: parts.log, factsOf }, wallet_id)
  return { wallet, opened: opened.map(({ wallet_id }) => wallet_id) }
}

t.test(
  'a batch is accepted once, and a few jobs give all its wallets addresses, each an index of its own',
  async (t) => {
    const parts = await withWallets(t)
    await beat(parts)
    const wanted = batchOf(Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? `customer-${n}` : null)))
    const { id } = await requestWallets(parts, wanted, { metadata: metadata('k') })
    const again = await requestWallets(parts, wanted, { metadata: metadata('k') })
    t.match(again, { id, replayed: true })
    t.equal(await codeOf(requestWallets(parts, wanted, { metadata: metadata('k', 'other') })), 'idempotency_key_reused')
    const before = await readWalletBatch(parts, OWNER, id)
    t.strictSame(
      before.map(({ label, external_id }) => [label, external_id]),
      wanted.items.map(({ label, externalId }) => [label, externalId]),
    )
    const [first, last] = [before[0], before.at(-1)]
    await Promise.all([parts.makeHdWallet(first?.wallet_id ?? ''), parts.makeHdWallet(last?.wallet_id ?? '')])
    const made = await readWalletBatch(parts, OWNER, id)
    t.equal(new Set(made.map(({ address }) => address)).size, 300)
    t.ok(made.every(({ status }) => status === 'active'))
    const events = await parts.log.readStream(keyIndexesAggregate, 'acme')
    t.strictSame(
      events.map(({ data }) => (data as { index: number }).index),
      Array.from({ length: 300 }, (_, n) => n),
    )
    const factsOf = composeRecordedWallets(parts)
    const signing = createSigningWalletOf(factsOf)
    await Promise.all(made.map(async ({ wallet_id, address }) => t.equal((await signing(wallet_id)).address, address)))
  },
)

t.test('a batch with an external_id that is taken opens nothing', async (t) => {
  const parts = await withWallets(t)
  await makeWallet(parts, { externalId: 'customer-1' })
  const refused = requestWallets(parts, batchOf([null, 'customer-2', 'customer-1']), { metadata: metadata('k') })
  t.equal(await codeOf(refused), 'external_id_taken')
  const { rows } = await parts.pool.query('SELECT count(*)::integer AS n FROM wallets')
  t.strictSame(rows, [{ n: 1 }])
})

t.test('a wallet taken out of the middle of a chunk by a watched address skips one index alone', async (t) => {
  const parts = await withWallets(t)
  const probe = await makeWallet(parts)
  const addresses = await Promise.all([1, 2, 3].map((index) => addressAt(index)))
  t.not((await readWallet(parts, OWNER, probe)).address, addresses[1])
  const place = { network: 'ethereum', environment: 'mainnet', chainId: 1000001, label: '', notifications: {} } as const
  await watchWallet(parts, { ...place, address: addresses[1] ?? '' }, { metadata: ACME })
  const { id } = await requestWallets(parts, batchOf([null, null, null]), { metadata: ACME })
  for (const { wallet_id } of await readWalletBatch(parts, OWNER, id)) await parts.makeHdWallet(wallet_id)
  const made = await readWalletBatch(parts, OWNER, id)
  t.ok(made.every(({ status }) => status === 'active'))
  t.notOk(made.some(({ address }) => address === addresses[1]))
})

t.test('an address is opened on other networks once, with the same key, and signers may use it there', async (t) => {
  const parts = await withWallets(t)
  const { wallet, opened } = await withOpened(parts)
  const signing = createSigningWalletOf(composeRecordedWallets(parts))
  const [owner, ...guests] = await Promise.all([wallet.walletId, ...opened].map((id) => signing(id)))
  t.strictSame(
    guests.map(({ address, key, openedFrom, network }) => ({ address, key, openedFrom, network })),
    NETWORKS.map((network) => ({ address: owner?.address, key: owner?.key, openedFrom: wallet.walletId, network })),
  )
  for (const asked of [wallet, await parts.findWallet(OWNER, opened[0] ?? '')]) {
    t.match(await openNetworks(parts, asked, OPEN, { metadata: metadata(asked.walletId) }), { replayed: false })
    t.match(await openNetworks(parts, asked, OPEN, { metadata: metadata(asked.walletId) }), { replayed: true })
    const found = await readNetworks(parts, OWNER, asked, NETWORKS)
    t.strictSame(
      found.map(({ wallet_id }) => wallet_id),
      opened,
    )
  }
})

t.test('requests for the same networks at the same time open each once', async (t) => {
  const parts = await withWallets(t)
  const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
  await Promise.all(Array.from({ length: 8 }, () => openNetworks(parts, wallet, OPEN, { metadata: ACME })))
  t.equal((await readNetworks(parts, OWNER, wallet, NETWORKS)).length, 2)
})

t.test('an address that the tenant watches elsewhere is not opened there', async (t) => {
  const parts = await withWallets(t)
  const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
  const watch = { ...POLYGON, address: wallet.address ?? '', label: '', notifications: {} }
  await watchWallet(parts, watch, { metadata: ACME })
  t.equal(await codeOf(openNetworks(parts, wallet, OPEN, { metadata: ACME })), 'address_in_use')
  t.strictSame(await readNetworks(parts, OWNER, wallet, NETWORKS), [])
})

t.test('a touched address is found on its chain, and elsewhere while its key has no wallet there', async (t) => {
  const parts = await withWallets(t)
  const wallet = await parts.findWallet(OWNER, await makeWallet(parts))
  const address = wallet.address?.toLowerCase() ?? ''
  const touchedOn = async (place: { readonly chainId: number; readonly environment: string }) => {
    const chain = { ...place, network: 'polygon', tokens: [] } as unknown as BalanceChain
    const found = await findTouched(parts.pool, chain, [{ address, contract: null }])
    return found.map(({ walletId, isUnopened, asset }) => [walletId, isUnopened, asset.assetId.split('/')[0]])
  }
  const ETHEREUM = { chainId: 1000001, environment: 'mainnet' }
  t.strictSame(await touchedOn(ETHEREUM), [[wallet.walletId, false, 'eip155:1000001']])
  t.strictSame(await touchedOn(POLYGON), [[wallet.walletId, true, 'eip155:1000137']])
  t.strictSame(await touchedOn({ chainId: 80002, environment: 'testnet' }), [])
  await openNetworks(parts, wallet, OPEN, { metadata: ACME })
  const [opened] = await readNetworks(parts, OWNER, wallet, ['polygon'])
  t.strictSame(await touchedOn(POLYGON), [[opened?.wallet_id, false, 'eip155:1000137']])
})
