/** The recorded events of wallets, which stay readable, and the indexes of a tenant's seed. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { decideOn, type Loaded, unopened, upcast } from '../../src/event-log/aggregate.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import { walletDecider } from '../../src/wallets/decider.ts'
import type { WalletEvent } from '../../src/wallets/events.ts'
import {
  KEY_RANGE_SIZE,
  KEY_RANGES,
  type KeyIndexesCommand,
  type KeyIndexesState,
  keyIndexesAggregate,
  needsRange,
} from '../../src/wallets/key-indexes.ts'
import type { KeyIndexesEvent } from '../../src/wallets/key-indexes-events.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

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

const given = givenOf(walletDecider)

t.test(
  'in any series of allotments, skips and restores each index is used once, and none of a range is left out',
  async () => {
    const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: NOW }
    const step = fc.oneof(
      fc.constantFrom('Allot', 'Skip'),
      fc.record({ draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }) }),
    )
    const property = fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      let loaded: Loaded<KeyIndexesState> = unopened(keyIndexesAggregate, 'acme')
      let restores = 0
      const indexes: number[] = []
      for (const each of steps) {
        if (typeof each === 'object') restores += 1
        else indexes.push(loaded.state.next)
        const command: KeyIndexesCommand =
          typeof each === 'object'
            ? { type: 'StartRange', restores, draw: each.draw, now: NOW }
            : each === 'Allot'
              ? { type: 'Allot', wallets: [{ walletId: 'wal_1', address: OWN }], now: NOW }
              : { type: 'Skip', address: OWN, now: NOW }
        loaded = decideOn(keyIndexesAggregate, loaded, command, context)?.after ?? loaded
        if (needsRange(loaded.state, restores)) return false
      }
      const isNext = (index: number, place: number) =>
        index % KEY_RANGE_SIZE === 0 || index === (indexes[place - 1] ?? Number.NaN) + 1
      return (
        new Set(indexes).size === indexes.length && indexes.every((index, n) => index < 2 ** 31 && isNext(index, n))
      )
    })
    fc.assert(property)
  },
)

t.test('a range that is used up is followed by another one, until all are used', (t) => {
  const { decide, evolve, initialState } = keyIndexesAggregate
  const range = { type: 'StartRange', restores: 0, draw: 0.999, now: NOW } as const
  const last = { ...initialState, next: KEY_RANGE_SIZE - 1 }
  t.strictSame(decide(range, last), [])
  const full = { ...initialState, next: KEY_RANGE_SIZE }
  const [started] = decide(range, full)
  t.match(started, { data: { from: 2 ** 31 - 3 * KEY_RANGE_SIZE, restores: 0 } })
  t.strictSame(started && evolve(full, started).begun, [0, 2 ** 31 - 3 * KEY_RANGE_SIZE])
  const begun = Array.from({ length: KEY_RANGES }, (_, n) => n * KEY_RANGE_SIZE)
  t.throws(() => decide({ ...range, restores: 1 }, { ...initialState, begun }), { code: 'key_indexes_used_up' })
  t.end()
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
    [
      'WalletRequested',
      [],
      { status: 'requested', address: OWN, openedFrom: /^wal_/, key: null, batchId: null, network: 'polygon' },
      3,
    ],
    ['NetworkOpened', [requested, created], { networks: [{ chainId: 1000137, walletId: /^wal_/ }], openedFrom: null }],
    ['WatchStarted', [], { status: 'active', type: 'watch', address: FOREIGN, environment: 'testnet' }],
    ['WalletRelabelled', [requested], { label: 'Cold' }],
    ['WalletTagged', [requested], { tags: ['hot', 'payroll'] }],
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
    matchExactly(t, given(...before, read(type, version)).state, after)
  for (const type of Object.keys(keyIndexesAggregate.schemas)) {
    const { data } = golden(type, 1)
    const event = upcast<KeyIndexesEvent>(keyIndexesAggregate.schemas, type, 1, data)
    const next = event.type === 'KeyIndexRangeStarted' ? event.data.from : event.data.index + 1
    t.match(keyIndexesAggregate.evolve(keyIndexesAggregate.initialState, event), { next })
  }
})
