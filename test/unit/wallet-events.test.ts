/** The recorded events of wallets, which stay readable, and the indexes of a tenant's seed. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { change, upcast } from '../../src/event-log/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { walletDecider } from '../../src/wallets/decider.ts'
import type { WalletEvent } from '../../src/wallets/events.ts'
import { keyIndexesAggregate, keyIndexesAt } from '../../src/wallets/key-indexes.ts'
import type { KeyIndexesEvent } from '../../src/wallets/key-indexes-events.ts'
import type { WalletState } from '../../src/wallets/state.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const OWN = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const FOREIGN = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** The recorded data of one version of an event. */
function golden(type: string, version: number): { type: string; schema_version: number; data: never } {
  return JSON.parse(readFileSync(new URL(`../golden/events/${type}.v${version}.json`, import.meta.url), 'utf8'))
}

function read(type: string, version = 1): WalletEvent {
  const { schema_version, data } = golden(type, version)
  return upcast<WalletEvent>(walletAggregate.schemas, type, schema_version, data)
}

function fold(events: readonly WalletEvent[]): WalletState {
  return events.reduce(walletDecider.evolve, walletDecider.initialState)
}

t.test('in any series of allotments and skips each index is used once, and none is left out', async () => {
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: NOW }
  const property = fc.property(fc.array(fc.boolean(), { maxLength: 50 }), (kinds) => {
    let loaded = keyIndexesAt('acme', { version: 0, hash: '' })
    const indexes: number[] = []
    for (const isAllotted of kinds) {
      const command = isAllotted
        ? ({ type: 'Allot', walletId: 'wal_1', address: OWN, now: NOW } as const)
        : ({ type: 'Skip', address: OWN, now: NOW } as const)
      const made = change(keyIndexesAggregate, loaded, command, context)
      indexes.push(loaded.state.next)
      // As the next signer loads it: from the head of the stream only.
      loaded = keyIndexesAt('acme', { version: made?.after.version ?? -1, hash: made?.after.hash ?? '' })
      if (made?.after.state.next !== loaded.state.next) return false
    }
    return indexes.every((index, place) => index === place)
  })
  fc.assert(property)
})

t.test('every event that was ever written is still read', async (t) => {
  const files = readdirSync(new URL('../golden/events', import.meta.url))
  const [requested, created, watched, archived] = [
    'WalletRequested',
    'WalletCreated',
    'WatchStarted',
    'WalletArchived',
  ].map((type) => read(type))
  if (!requested || !created || !watched || !archived) throw new Error('a golden event is missing')
  const states: [string, WalletEvent[], object, number?][] = [
    [
      'WalletRequested',
      [],
      { status: 'requested', label: 'Treasury 🏦', externalId: 'customer-42', chainId: 1000001, mpc: null },
    ],
    ['WalletRequested', [], { status: 'requested', type: 'mpc', mpc: { threshold: 2, parties: 3 } }, 2],
    [
      'WalletCreated',
      [requested],
      { status: 'active', address: OWN, key: { kind: 'hd', tenantId: 'acme', index: 7 }, publicKey: null },
    ],
    [
      'WalletCreated',
      [read('WalletRequested', 2)],
      { status: 'active', key: { kind: 'mpc', keyId: /^mpk_/ }, publicKey: /^0x03/, mpc: { threshold: 2, parties: 3 } },
      2,
    ],
    ['WatchStarted', [], { status: 'active', type: 'watch', address: FOREIGN, environment: 'testnet' }],
    ['WalletRelabelled', [requested], { label: 'Cold' }],
    [
      'NotificationsChanged',
      [watched],
      { notifications: { incomingTransactions: true, largeTransferThresholdUsd: '2500.50' } },
    ],
    ['WalletArchived', [requested, created], { status: 'archived', archivedAt: NOW }],
    ['WalletRestored', [requested, created, archived], { status: 'active', archivedAt: null }],
  ]
  const types = Object.keys(walletAggregate.schemas) as WalletEvent['type'][]
  const versions = types.flatMap((type) =>
    Array.from({ length: walletAggregate.schemas[type].version }, (_, index) => `${type}.v${index + 1}.json`),
  )
  t.strictSame(
    states.map(([type, , , version = 1]) => `${type}.v${version}.json`).toSorted(),
    versions.toSorted(),
    'the test covers every version of every event type',
  )
  t.strictSame(
    versions.filter((file) => !files.includes(file)),
    [],
  )
  for (const [type, before, after, version] of states)
    t.match(walletDecider.evolve(fold(before), read(type, version)), after)
  for (const type of Object.keys(keyIndexesAggregate.schemas)) {
    const { data } = golden(type, 1)
    const event = upcast<KeyIndexesEvent>(keyIndexesAggregate.schemas, type, 1, data)
    t.strictSame(keyIndexesAggregate.evolve({ next: 0 }, event), { next: event.data.index + 1 })
  }
})
