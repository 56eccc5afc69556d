/** The commands of a wallet and their refusals, and the resulting row and jobs. */
import t from 'tap'
import { balanceWork } from '../../src/balances/jobs.ts'
import { decideOn, type Loaded } from '../../src/event-log/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { type WalletCommand, walletDecider } from '../../src/wallets/decider.ts'
import type { WalletEvent, WalletRequested, WatchStarted } from '../../src/wallets/events.ts'
import { walletWork } from '../../src/wallets/jobs.ts'
import type { WalletState } from '../../src/wallets/state.ts'
import { givenOf } from '../support/given.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:05:00.000Z'
const OWN = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const FOREIGN = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const asked = {
  type: 'hd',
  network: 'ethereum',
  environment: 'mainnet',
  chainId: 1000001,
  label: 'Treasury 🏦',
  externalId: 'customer-42',
  mpc: null,
  requestedAt: NOW,
} as const
const request: WalletRequested['data'] = { ...asked, openedFrom: null, batchId: null }
const notifications = { largeTransfers: false, incomingTransactions: true, largeTransferThresholdUsd: '10000' }
const watch: WatchStarted['data'] = {
  network: 'polygon',
  environment: 'mainnet',
  chainId: 1000137,
  address: FOREIGN,
  label: '',
  notifications,
  startedAt: NOW,
}
const keyMade = {
  address: OWN,
  key: { kind: 'hd', tenantId: 'acme', index: 0 },
  derivationPath: "m/44'/60'/0'/0/0",
  createdAt: NOW,
  publicKey: null,
  threshold: null,
  parties: null,
} as const

const requested: WalletEvent = { type: 'WalletRequested', data: request }
const created: WalletEvent = { type: 'WalletCreated', data: keyMade }
const watched: WalletEvent = { type: 'WatchStarted', data: watch }
const archived: WalletEvent = { type: 'WalletArchived', data: { archivedAt: NOW } }
const restored: WalletEvent = { type: 'WalletRestored', data: { restoredAt: LATER } }

const recordKey: WalletCommand = { type: 'RecordKey', created: keyMade }
const restore: WalletCommand = { type: 'Restore', now: LATER }
function archive(facts: Partial<Extract<WalletCommand, { type: 'Archive' }>> = {}): WalletCommand {
  return { type: 'Archive', pending: 0, remainders: [], force: false, now: LATER, ...facts }
}
function revise(revision: Extract<WalletCommand, { type: 'Revise' }>['revision']): WalletCommand {
  return { type: 'Revise', revision, now: LATER }
}

const given = givenOf(walletDecider)

t.test('a wallet is requested, gets its key, and is in use', async (t) => {
  given().when({ type: 'RequestWallet', request: asked }).expect(t, requested)
  given(requested).when(recordKey).expect(t, created)
  t.match(given(requested).state, { status: 'requested', address: null, key: null })
  t.match(given(requested, created).state, { status: 'active', address: OWN, key: { index: 0 }, notifications: null })
})

t.test('a watch wallet is in use at once, has no key, and keeps its notifications', async (t) => {
  given().when({ type: 'StartWatch', watch }).expect(t, watched)
  t.match(given(watched).state, {
    status: 'active',
    type: 'watch',
    address: FOREIGN,
    key: null,
    externalId: null,
    notifications,
  })
})

t.test('an id opens one wallet only', async (t) => {
  given(requested).when({ type: 'RequestWallet', request: asked }).fails(t, 'wallet_exists')
  given(watched).when({ type: 'StartWatch', watch }).fails(t, 'wallet_exists')
})

t.test('a repeated or late key changes nothing', async (t) => {
  given(requested, created).when(recordKey).expect(t)
  given(requested, created, archived).when(recordKey).expect(t)
  given(watched).when(recordKey).expect(t)
})

t.test('nothing can be done to a wallet that does not exist', async (t) => {
  for (const command of [recordKey, restore, archive(), revise({ label: 'x' })]) {
    given().when(command).fails(t, 'wallet_not_found')
  }
})

t.test('a label and notifications change independently, and only when they differ', async (t) => {
  const relabelled: WalletEvent = { type: 'WalletRelabelled', data: { label: 'Cold', relabelledAt: LATER } }
  const changed: WalletEvent = {
    type: 'NotificationsChanged',
    data: { notifications: { ...notifications, largeTransfers: true }, changedAt: LATER },
  }
  given(requested, created)
    .when(revise({ label: 'Cold' }))
    .expect(t, relabelled)
  given(requested)
    .when(revise({ label: 'Cold' }))
    .expect(t, relabelled)
  given(requested, created)
    .when(revise({ label: 'Treasury 🏦' }))
    .expect(t)
  given(requested, created)
    .when(revise({ label: '' }))
    .expect(t, { type: 'WalletRelabelled', data: { label: '', relabelledAt: LATER } })
  given(watched)
    .when(revise({ label: 'Cold', notifications: { largeTransfers: true } }))
    .expect(t, relabelled, changed)
  given(watched)
    .when(revise({ notifications: { incomingTransactions: true } }))
    .expect(t)
})

t.test('tags are a set: sorted, each once, and only another one is recorded', async (t) => {
  const tagged = (tags: readonly string[], taggedAt = LATER): WalletEvent => ({
    type: 'WalletTagged',
    data: { tags, taggedAt },
  })
  given()
    .when({ type: 'RequestWallet', request: asked, tags: ['payroll', 'hot', 'hot'] })
    .expect(t, requested, tagged(['hot', 'payroll'], NOW))
  given().when({ type: 'RequestWallet', request: asked, tags: [] }).expect(t, requested)
  const hot = given(requested, created, tagged(['hot']))
  hot.when(revise({ tags: ['hot', 'hot'] })).expect(t)
  hot.when(revise({ tags: ['payroll', 'hot'] })).expect(t, tagged(['hot', 'payroll']))
  hot.when(revise({ tags: [] })).expect(t, tagged([]))
  hot
    .when(revise({ label: 'Cold' }))
    .expect(t, { type: 'WalletRelabelled', data: { label: 'Cold', relabelledAt: LATER } })
  given(requested, created)
    .when(revise({ tags: [] }))
    .expect(t)
})

t.test('a wallet that signs takes no notifications, and then its label does not change either', async (t) => {
  given(requested, created)
    .when(revise({ label: 'Cold', notifications: { largeTransfers: true } }))
    .fails(t, { code: 'watch_wallets_only', type: 'validation_error', field: 'notifications' })
})

t.test('an archived wallet is not changed until it is restored', async (t) => {
  given(requested, created, archived)
    .when(revise({ label: 'Cold' }))
    .fails(t, { code: 'wallet_archived', type: 'conflict' })
})

t.test('an empty wallet is archived, and once', async (t) => {
  given(requested, created)
    .when(archive())
    .expect(t, { type: 'WalletArchived', data: { archivedAt: LATER } })
  given(requested, created, archived)
    .when(archive({ pending: 1 }))
    .expect(t)
  t.match(given(requested, created, archived).state, {
    status: 'archived',
    archivedAt: NOW,
    address: OWN,
    key: { index: 0 },
  })
})

t.test('a wallet without an address yet is not archived', async (t) => {
  given(requested)
    .when(archive({ force: true }))
    .fails(t, 'wallet_not_ready')
})

t.test('a wallet with pending transactions is not archived, even with force', async (t) => {
  for (const force of [false, true]) {
    given(requested, created)
      .when(archive({ pending: 3, force }))
      .fails(t, { code: 'wallet_has_pending_transactions', details: { pending: 3 } })
  }
})

t.test('a wallet with a balance is refused with it, unless force is given', async (t) => {
  const remainders = [{ asset_id: 'eip155:1000001/slip44:60', currency: 'ETH', balance: '1.5' }]
  given(requested, created)
    .when(archive({ remainders }))
    .fails(t, { code: 'wallet_has_balance', details: { balances: remainders } })
  given(requested, created)
    .when(archive({ remainders, force: true }))
    .expect(t, { type: 'WalletArchived', data: { archivedAt: LATER } })
})

t.test('a watch wallet is archived whatever its balance', async (t) => {
  const remainders = [{ asset_id: 'eip155:1000137/slip44:966', currency: 'POL', balance: '9' }]
  given(watched)
    .when(archive({ remainders }))
    .expect(t, { type: 'WalletArchived', data: { archivedAt: LATER } })
})

t.test('restoring undoes only archiving', async (t) => {
  given(requested, created, archived).when(restore).expect(t, restored)
  given(requested, created).when(restore).expect(t)
  given(requested).when(restore).expect(t)
  t.strictSame(given(requested, created, archived, restored).state, given(requested, created).state)
})

t.test('the row of a wallet is its newest state, and an unknown wallet has none', async (t) => {
  const unknown: Loaded<WalletState> = { id: 'wal_1', state: walletDecider.initialState, version: 0, hash: '' }
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: NOW }
  const opened = decideOn(walletAggregate, unknown, { type: 'RequestWallet', request: asked }, context)
  const made = opened && decideOn(walletAggregate, opened.after, recordKey, context)
  t.strictSame(made?.readModels, {
    rows: [
      {
        table: 'wallets',
        row: {
          wallet_id: 'wal_1',
          tenant_id: 'acme',
          type: 'hd',
          network: 'ethereum',
          environment: 'mainnet',
          chain_id: 1000001,
          address: OWN,
          label: 'Treasury 🏦',
          tags: [],
          external_id: 'customer-42',
          status: 'active',
          key_ref: { kind: 'hd', tenantId: 'acme', index: 0 },
          notifications: null,
          failure: null,
          created_at: NOW,
          archived_at: null,
          version: 2,
          mpc: null,
          public_key: null,
          opened_from: null,
          batch_id: null,
        },
      },
    ],
    holds: [],
  })
  const nobody = { id: 'wal_1', tenantId: 'acme', version: 0, recordedAt: NOW }
  t.strictSame(walletAggregate.project(walletDecider.initialState, walletDecider.initialState, nobody).rows, [])
})

t.test('each event of a wallet has the jobs that it needs, and no others', async (t) => {
  const jobsOf = (type: string) => {
    const event = { type, streamId: 'wallet-wal_1', tenantId: 'acme', data: null }
    return [walletWork, balanceWork].flatMap((work) => work.jobsOf(event))
  }
  t.strictSame(jobsOf('WalletRequested'), [{ queue: 'wallet', id: 'wal_1', data: { wallet_id: 'wal_1' } }])
  for (const type of ['WalletCreated', 'WatchStarted']) {
    t.strictSame(jobsOf(type), [{ queue: 'observe', id: 'wal_1', data: { wallet_id: 'wal_1' } }])
  }
  for (const type of [
    'NetworkOpened',
    'WalletRelabelled',
    'WalletTagged',
    'NotificationsChanged',
    'WalletArchived',
    'WalletRestored',
  ])
    t.strictSame(jobsOf(type), [])
})
