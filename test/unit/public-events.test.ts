/** Public events are a pure function of the log: the same bytes for ever, for each type of the catalogue. */
import { readdirSync, readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import type { Published } from '../../src/capability.ts'
import examples from '../../src/compose/event-examples.json' with { type: 'json' }
import { parsePublicEventId, publicEventIdOf } from '../../src/core/event-ids.ts'
import { STREAMS } from '../../src/declarations.ts'
import { createCatalogue } from '../../src/feed/catalogue.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  CATALOGUE,
  eventExamples,
  goldenBytes,
  goldenEvents,
  PUBLIC_LOG,
  publicEvents,
  renderFromMemory,
  toLogged,
} from '../support/public-log.ts'

const GOLDEN = new URL('../golden/public-events/', import.meta.url)
const EVENTS = await publicEvents()
const MAKE = 'extend test/support/public-log.ts and run npm run golden-log'

/** Streams of which nothing is published, with the reason. */
const UNPUBLISHED: Readonly<Record<string, string>> = {
  chain: 'blocks belong to no tenant',
  tagkey: 'which key the signers of the installation use',
  database: 'a restore belongs to no tenant',
  request: 'a request that changed nothing has no effect to tell',
  setaside: 'what an operator decided about a bad event of the log',
  keyindexes: 'which index of a seed belongs to which wallet is a matter of the service',
  policyseeding: 'that the shadow knows what was spent before is told by its policy',
  foundspend: 'what left a wallet is told by its transfer',
  ownership: 'moves of tokens become deposits',
  swap: 'its transactions are published',
  token: 'its transactions are published',
}

t.test(
  'each public event has the bytes that were recorded for its type, and for each publisher that repeats it',
  async (t) => {
    const recorded = readdirSync(GOLDEN).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : []))
    const golden = goldenEvents(EVENTS)
    t.strictSame(recorded.toSorted(), [...golden.keys()].toSorted(), MAKE)
    for (const [name, event] of golden) {
      const bytes = readFileSync(new URL(`${name}.json`, GOLDEN), 'utf8')
      t.equal(event === undefined ? '' : goldenBytes(event), bytes, name)
    }
  },
)

t.test('an event has the same bytes alone and among all others', async (t) => {
  for (const [n, row] of PUBLIC_LOG.entries()) {
    if (n % 5 !== 0) continue
    const [alone = []] = await renderFromMemory([toLogged(row)])
    for (const { event } of alone)
      t.strictSame(
        event,
        EVENTS.find(({ id }) => id === event.id),
        event.id,
      )
  }
})

t.test('ids are unique, and the first public event of an event of the log has its id', async (t) => {
  const ids = EVENTS.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length)
  const mined = EVENTS.filter(({ id }) => id.startsWith('evt_transaction-tx_101.3'))
  t.strictSame(
    mined.map(({ id, type }) => [id, type]),
    [
      ['evt_transaction-tx_101.3', 'transaction.mined'],
      ['evt_transaction-tx_101.3~1', 'nft.collection.deployed'],
    ],
  )
  for (const id of ids) {
    const name = parsePublicEventId(id)
    t.equal(name && publicEventIdOf(name), id)
  }
})

t.test('ids of public events are read strictly', (t) => {
  const named = (index: number) => ({ streamId: 'wallet-wal_1', streamVersion: 7, index })
  t.strictSame(parsePublicEventId('evt_wallet-wal_1.7'), named(0))
  t.strictSame(parsePublicEventId('evt_wallet-wal_1.7~12'), named(12))
  for (const wrong of [
    '',
    'evt_wallet-wal_1',
    'evt_wallet-wal_1.0',
    'evt_wallet-wal_1.7~0',
    'evt_wallet-wal_1.7~',
    'wallet-wal_1.7',
    'evt_wallet-wal_1.7~123',
  ])
    t.equal(parsePublicEventId(wrong), undefined, wrong)
  t.end()
})

t.test('a cancelled operation was never done, although the block of the cancellation succeeded', (t) => {
  const told = EVENTS.filter(({ resource }) => resource.id === 'nftx_101').map(({ type }) => type)
  t.strictSame(told, [
    'nft.transfer.requested',
    'nft.transfer.confirmed',
    'nft.transfer.reorged',
    'nft.transfer.failed',
  ])
  t.end()
})

t.test('a cancellation is told with its confirmations, and its block before as no outcome', (t) => {
  const told = (id: string) => EVENTS.filter(({ resource }) => resource.id === id)
  matchExactly(
    t,
    told('tx_105').filter(({ type }) => /mined|cancelled|revoked/.test(type)),
    [
      { type: 'transaction.mined', data: { state: 'cancelling', status: 'pending', confirmations: 1 } },
      { type: 'transaction.cancelled', data: { state: 'cancelled', status: 'cancelled', confirmations: 32 } },
      { type: 'transaction.settlement_revoked', data: { state: 'reorged', status: 'pending', confirmations: 0 } },
    ],
  )
  t.strictSame(
    told('nftx_102').map(({ type }) => type),
    ['nft.transfer.requested', 'nft.transfer.failed', 'nft.transfer.reorged'],
  )
  t.end()
})

t.test('data has the fields of its schema, no other ones, and no secret', (t) => {
  const schemas = new Map(CATALOGUE.types.map(({ type, publisher }) => [type, publisher.schema]))
  for (const { type, data } of EVENTS) {
    const schema = schemas.get(type)
    t.ok(schema)
    t.strictSame(schema && wrongFields(schema, data, type), [])
  }
  t.notMatch(
    JSON.stringify(EVENTS),
    /rawTransaction|raw_transaction|ciphertext|9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","label/,
  )
  t.end()
})

t.test('the examples of the API reference are these events, with ids as the service has them', (t) => {
  t.strictSame(examples, eventExamples(EVENTS), MAKE)
  t.end()
})

t.test('each stream is published, or it is listed why not', (t) => {
  for (const category of Object.keys(STREAMS)) {
    const isPublished = CATALOGUE.publishersOf(category).length > 0
    t.equal(isPublished, !(category in UNPUBLISHED), category)
  }
  t.end()
})

t.test('two publishers cannot use one type, or one id', (t) => {
  const [{ publisher } = { publisher: {} as Published }] = CATALOGUE.types
  t.throws(() => createCatalogue([publisher, publisher]), /published twice/)
  const types = { 'other.type': 'Another one.' }
  const events = Object.fromEntries(Object.keys(publisher.events).map((type) => [type, ['other.type']]))
  t.throws(
    () => createCatalogue([publisher, { ...publisher, types, events }]),
    /the public event 0 of .* is published twice/,
  )
  t.doesNotThrow(() => createCatalogue([publisher, { ...publisher, types, events, firstIndex: 10 }]))
  const fold = { category: publisher.category, initialState: null, evolve: () => null }
  t.throws(
    () => createCatalogue([publisher, { ...publisher, types, events, firstIndex: 10, fold }]),
    /two publishers fold the streams of .* differently/,
  )
  t.end()
})

/** Required fields that are missing, and fields that the schema does not have. */
function wrongFields(schema: TSchema, value: unknown, path: string): string[] {
  if (value === null || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((item, n) => wrongFields(schema.items ?? {}, item, `${path}[${n}]`))
  const properties: Readonly<Record<string, TSchema>> | undefined = schema.properties
  if (properties === undefined) return []
  const missing = ((schema.required ?? []) as string[]).filter((name) => !(name in value))
  return [
    ...missing.map((name) => `${path} lacks ${name}`),
    ...Object.entries(value).flatMap(([name, member]) => {
      const known = properties[name]
      return known === undefined ? [`${path} has ${name}`] : wrongFields(known, member, `${path}.${name}`)
    }),
  ]
}
