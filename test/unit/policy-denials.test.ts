/** How refusals are counted and recorded: one event a minute for each key and rule, whoever else records. */
import t from 'tap'
import type { Commit } from '../../src/event-log/append.ts'
import { StreamConflict } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import { createDenialTally, type Denial } from '../../src/policies/denial-tally.ts'
import { matchExactly } from '../support/match-exactly.ts'

const METADATA = { tenantId: 'acme', actor: 'apikey:key_1' }
const DENIAL: Denial = {
  ...{ environment: 'mainnet', version: 3, shadow: false, rule: 'no', reason: 'denied', apiKey: 'key_1' },
  walletId: 'wal_1',
}

/** A log that refuses a stream that it has. */
function logOf(taken: readonly string[] = []) {
  const streams = new Map<string, Record<string, unknown>>(taken.map((name) => [name, {}]))
  const clock = { now: '2026-12-02T10:05:30.000Z' }
  async function append({ decisions }: Commit): Promise<void> {
    const [event] = decisions[0]?.events ?? []
    if (event === undefined || streams.has(event.streamId)) throw new StreamConflict(event?.streamId ?? '')
    streams.set(event.streamId, JSON.parse(event.canonical).data)
  }
  return { clock, streams, append, log: { now: () => clock.now, commit: createCommit(append) } }
}

t.test('the first refusal of a minute is recorded at once, and the others with the next minute', async (t) => {
  const { log, clock, streams } = logOf()
  const tally = createDenialTally({ log, onError: (error) => t.fail(String(error)) })
  for (let n = 0; n < 3; n += 1) tally.note(DENIAL, METADATA)
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(
    [...streams.values()].map(({ count }) => count),
    [1],
  )
  tally.note({ ...DENIAL, rule: null }, METADATA)
  tally.note({ ...DENIAL, apiKey: 'key_2' }, METADATA)
  tally.note({ ...DENIAL, shadow: true }, METADATA)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(streams.size, 4, 'each rule, key and kind has its own')
  clock.now = '2026-12-02T10:06:00.001Z'
  await tally.close()
  const names = [...streams.keys()]
  matchExactly(
    t,
    names,
    names.map(() => /^policydenials-acme-mainnet-20261202T100[56]-[0-9a-f]{16}$/),
  )
  t.match([...streams.values()].at(-1), {
    ...DENIAL,
    count: 2,
    firstAt: '2026-12-02T10:05:30.000Z',
    lastAt: '2026-12-02T10:05:30.000Z',
  })
  t.equal(streams.size, 5, 'what waited is recorded when the process ends')
})

t.test('what another process has recorded in this minute is counted in the next one', async (t) => {
  const first = logOf()
  const one = createDenialTally({ log: first.log, onError: (error) => t.fail(String(error)) })
  one.note(DENIAL, METADATA)
  await one.close()
  const [taken = ''] = first.streams.keys()
  const { log, clock, streams } = logOf([taken])
  const other = createDenialTally({ log, onError: (error) => t.fail(String(error)) })
  for (let n = 0; n < 2; n += 1) other.note(DENIAL, METADATA)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(streams.size, 1)
  clock.now = '2026-12-02T10:06:10.000Z'
  await other.close()
  t.match([...streams.values()].at(-1), { count: 2, firstAt: '2026-12-02T10:05:30.000Z' })
})

t.test('what cannot be recorded is reported and kept', async (t) => {
  const { log, append, streams } = logOf()
  let isDown = true
  const errors: unknown[] = []
  const commit = createCommit(async (appended) => {
    if (isDown) throw new Error('down')
    await append(appended)
  })
  const tally = createDenialTally({ log: { now: log.now, commit }, onError: (error) => errors.push(error) })
  tally.note(DENIAL, METADATA)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(errors.length, 1)
  isDown = false
  await tally.close()
  matchExactly(t, [...streams.values()], [{ count: 1 }])
})

t.test('refusals of one tenant by many rules and keys keep those of no other tenant from being recorded', async (t) => {
  const { log, streams } = logOf()
  const tally = createDenialTally({ log, onError: (error) => t.fail(String(error)) })
  for (let n = 0; n < 10_000; n += 1) tally.note({ ...DENIAL, apiKey: `key_${n}` }, METADATA)
  tally.note(DENIAL, { ...METADATA, tenantId: 'globex' })
  await tally.close()
  const tenants = [...streams.keys()].map((name) => name.split('-')[1])
  t.equal(tenants.filter((tenant) => tenant === 'globex').length, 1)
  t.equal(tenants.length, 1_001)
})
