/** A key on several chains: what is recorded, and which wallets may use it. */
import t from 'tap'
import type { EventLog } from '../../src/event-log/log.ts'
import { type WalletCommand, walletDecider } from '../../src/wallets/decider.ts'
import type { NetworkOpened, WalletCreated, WalletEvent, WalletRequested } from '../../src/wallets/events.ts'
import { ownersOf } from '../../src/wallets/key-owners.ts'
import type { OpenedNetwork } from '../../src/wallets/state.ts'
import { factsOf, type WalletFacts } from '../../src/wallets/wallet-facts.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const OWN = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ETHEREUM = { network: 'ethereum', environment: 'mainnet', chainId: 1 } as const
const POLYGON = { network: 'polygon', environment: 'mainnet', chainId: 137 } as const
const KEY = { kind: 'hd', tenantId: 'acme', index: 7 } as const

const asked = { type: 'hd', label: 'Desk', externalId: null, mpc: null, requestedAt: NOW } as const
const requested = (more: Partial<WalletRequested['data']> = {}): WalletEvent => ({
  type: 'WalletRequested',
  data: { ...asked, ...ETHEREUM, openedFrom: null, batchId: null, ...more },
})
const created = (more: Partial<WalletCreated['data']> = {}): WalletEvent => ({
  type: 'WalletCreated',
  data: {
    ...{ address: OWN, key: KEY, derivationPath: "m/44'/60'/0'/0/7", createdAt: NOW },
    ...{ publicKey: null, threshold: null, parties: null },
    ...more,
  },
})
const opened = (more: Partial<NetworkOpened['data']> = {}): WalletEvent => ({
  type: 'NetworkOpened',
  data: { ...POLYGON, walletId: 'wal_2', openedAt: NOW, ...more },
})
const openPolygon = (...more: OpenedNetwork[]): WalletCommand => ({
  type: 'OpenNetworks',
  networks: [{ ...POLYGON, walletId: 'wal_2' }, ...more],
  now: NOW,
})
/** Opened from `wal_1` on polygon. */
const guest = [requested({ ...POLYGON, openedFrom: { walletId: 'wal_1', address: OWN } }), created()]
const given = givenOf(walletDecider)

t.test('a wallet with a key names the wallets that use it on other chains', async (t) => {
  given(requested(), created()).when(openPolygon()).expect(t, opened())
  given(requested()).when(openPolygon()).fails(t, 'wallet_not_ready')
  given().when(openPolygon()).fails(t, 'wallet_not_found')
  const watch = { ...ETHEREUM, address: OWN, label: '', startedAt: NOW }
  const notifications = { largeTransfers: false, incomingTransactions: false, largeTransferThresholdUsd: '1' }
  given({ type: 'WatchStarted', data: { ...watch, notifications } })
    .when(openPolygon())
    .fails(t, { code: 'watch_only', field: 'wallet_id' })
})

t.test('a key has one wallet on each chain, also if its stream named another one later', async (t) => {
  const decide = (events: readonly WalletEvent[], command: WalletCommand) => () =>
    walletDecider.decide(command, given(...events).state)
  t.throws(decide([requested(), created(), opened()], openPolygon()), /has a wallet on the chain 137/)
  t.throws(decide([requested(POLYGON), created()], openPolygon()), /has a wallet on the chain 137/)
  t.throws(decide([requested(), created()], openPolygon({ ...POLYGON, walletId: 'wal_3' })), /chain 137/)
  const testnet = { ...POLYGON, environment: 'testnet', chainId: 80002, walletId: 'wal_3' } as const
  t.throws(decide([requested(), created()], openPolygon(testnet)), /chain 80002/)
  t.throws(decide(guest, openPolygon()), /from the wallet that the key belongs to/)
  matchExactly(t, given(requested(), created(), opened(), opened({ walletId: 'wal_3' })).state, {
    networks: [{ ...POLYGON, walletId: 'wal_2' }],
  })
})

t.test('a wallet that is opened from another one has its address at once, and the key later', async (t) => {
  t.match(given(...guest.slice(0, 1)).state, { status: 'requested', address: OWN, key: null, openedFrom: 'wal_1' })
  t.match(given(...guest).state, { status: 'active', address: OWN, key: KEY, openedFrom: 'wal_1' })
})

/** A log with these streams of wallets; `acme` has them, unless they are named otherwise. */
function logOf(
  streams: Readonly<Record<string, readonly WalletEvent[]>>,
  broken: string | null = null,
  tenantId = 'acme',
): Pick<EventLog, 'loadChecked'> {
  return {
    loadChecked: async (_aggregate, ids) =>
      ids.map((id) => {
        const state = given(...(streams[id] ?? [])).state as never
        return { id, state, version: 2, hash: '', tenantId, broken, opened: null }
      }),
  }
}
function factsOfGuest(...events: readonly WalletEvent[]): WalletFacts {
  const { state } = given(...(events.length === 0 ? guest : events))
  if (state.status === 'unknown') throw new Error('no such wallet')
  return factsOf('wal_2', 'acme', state)
}

t.test('a wallet uses the key of another one only if that one names it for its chain', async (t) => {
  const problemOf = async (owner: readonly WalletEvent[], ...events: readonly WalletEvent[]) =>
    (await ownersOf(logOf({ wal_1: owner }), [factsOfGuest(...events)])).problems.get('wal_2')
  const owner = [requested(), created(), opened()]
  t.equal(await problemOf(owner), undefined)
  const cases: [string, readonly WalletEvent[], RegExp][] = [
    ['it does not exist', [], /does not have/],
    ['it names nobody', owner.slice(0, 2), /has no wallet on the chain 137/],
    [
      'it named another wallet first',
      [...owner.slice(0, 2), opened({ walletId: 'wal_3' }), opened()],
      /the wallet wal_3/,
    ],
    ['it names it for another chain', [...owner.slice(0, 2), opened({ chainId: 56 })], /no wallet on the chain 137/],
    ['it is on that chain itself', [requested(POLYGON), created(), opened()], /on the chain 137/],
    ['it has no key', [requested(), opened()], /no key of its own/],
    ['it uses the key of a third one', [...guest, opened()], /no key of its own/],
    ['it has another key', [requested(), created({ key: { ...KEY, index: 8 } }), opened()], /another key or address/],
    [
      'it has another address',
      [requested(), created({ address: `0x${'1'.repeat(40)}` }), opened()],
      /another key or address/,
    ],
    ['it is of another type', [requested({ type: 'mpc' }), created(), opened()], /tenant, type or environment/],
    ['it is of another environment', [requested({ environment: 'testnet' }), created(), opened()], /environment/],
  ]
  for (const [name, events, problem] of cases) t.match(await problemOf(events), problem, name)
})

t.test('an owner of another tenant, or with a broken stream, lends nothing', async (t) => {
  const streams = { wal_1: [requested(), created(), opened()] }
  const problems = async (...log: Parameters<typeof logOf>) =>
    (await ownersOf(logOf(...log), [factsOfGuest()])).problems.get('wal_2')
  t.match(await problems(streams, null, 'thief'), /another tenant/)
  t.equal(await problems(streams, 'the hash of event 2 is wrong'), 'the hash of event 2 is wrong')
})

t.test('a wallet with a key of its own owns it, and nothing is read for it', async (t) => {
  const own = factsOfGuest(requested(), created())
  const log = { loadChecked: async () => t.fail('read the log') as never }
  t.strictSame(await ownersOf(log, [own]), { owners: new Map([['wal_2', own]]), problems: new Map() })
})
