/** Headers, cursors and limits, each compared with its rule. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { environmentOf } from '../../src/http/caller.ts'
import { decodeCursor, encodeCursor, type Page, pageOf } from '../../src/http/paging.ts'
import { applyPreference, preferenceOf } from '../../src/http/prefer.ts'
import { addressKey, createRateLimit } from '../../src/http/rate-limit.ts'
import { traceparentOf } from '../../src/http/request-metadata.ts'
import { TokenBuckets } from '../../src/http/token-buckets.ts'
import { refusal } from '../support/refusal.ts'

t.test('Prefer is parsed as in RFC 7240', async (t) => {
  const prefer = (value: string | undefined) =>
    preferenceOf({ headers: { prefer: value } } as unknown as FastifyRequest)
  t.strictSame(prefer(undefined), { waitMs: null, applied: null })
  t.strictSame(prefer('respond-async'), { waitMs: 0, applied: 'respond-async' })
  t.strictSame(prefer('wait=10'), { waitMs: 10_000, applied: 'wait=10' })
  t.strictSame(prefer('Wait="5"; x=y, handling=lenient'), { waitMs: 5_000, applied: 'wait=5' })
  t.strictSame(prefer('respond-async, wait=3'), { waitMs: 3_000, applied: 'respond-async, wait=3' })
  t.strictSame(prefer('wait=3, wait=9'), { waitMs: 3_000, applied: 'wait=3' }, 'the first of two waits counts')
  t.strictSame(prefer('wait=3600'), { waitMs: 60_000, applied: 'wait=60' }, 'the wait is limited, as Prefer reports')
  t.strictSame(prefer('wait=0'), { waitMs: 0, applied: 'wait=0' })
  for (const ignored of [
    'wait',
    'wait=',
    'wait=-1',
    'wait=1.5',
    'wait=1e3',
    'wait=99999999999',
    'return=minimal',
    ',,;=',
  ]) {
    t.strictSame(prefer(ignored), { waitMs: null, applied: null }, ignored)
  }
  const headers: Record<string, string> = {}
  const reply = { header: (name: string, value: string) => (headers[name] = value) } as unknown as FastifyReply
  applyPreference(reply, prefer(undefined))
  t.strictSame(headers, {})
  applyPreference(reply, prefer('wait=7'))
  t.strictSame(headers, { 'preference-applied': 'wait=7' })
})

t.test('a trace context is passed on only when it is valid', async (t) => {
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  t.equal(traceparentOf(trace), trace)
  t.equal(traceparentOf(`cc${trace.slice(2)}-what-later-versions-add`), `cc${trace.slice(2)}-what-later-versions-add`)
  for (const bad of [
    undefined,
    '',
    trace.toUpperCase(),
    `ff${trace.slice(2)}`,
    trace.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    trace.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${trace} `,
    `${trace}-${'x'.repeat(200)}`,
  ]) {
    t.equal(traceparentOf(bad), undefined)
  }
})

t.test('a cursor names the last row, is bound to its list and shows alterations', async (t) => {
  const key = ['2026-01-31T12:00:00.000Z', 'wal_é']
  const cursor = encodeCursor('wallets', key)
  t.match(cursor, /^[A-Za-z0-9_-]+$/)
  t.equal(encodeCursor('wallets', key), cursor, 'the same key gives the same cursor')
  t.strictSame(decodeCursor('wallets', 2, cursor), key)
  const flipped = `${cursor.slice(0, 20)}${cursor[20] === 'A' ? 'B' : 'A'}${cursor.slice(21)}`
  for (const bad of [
    '',
    'nonsense',
    flipped,
    `${cursor}=`,
    `${cursor} `,
    cursor.slice(0, -1),
    encodeCursor('assets', key),
  ]) {
    t.match(
      refusal(() => decodeCursor('wallets', 2, bad)),
      { field: 'cursor', code: 'invalid_cursor' },
      bad,
    )
  }
  t.throws(() => decodeCursor('wallets', 1, cursor), { code: 'validation_failed' }, 'the number of columns must match')
  for (const forged of [null, { length: 2 }, [1, 2], [null, {}], ['a', '\u0000']]) {
    const sealed = encodeCursor('wallets', forged as unknown as string[])
    t.match(
      refusal(() => decodeCursor('wallets', 2, sealed)),
      { code: 'invalid_cursor' },
      `${JSON.stringify(forged)} is refused although its checksum is right`,
    )
  }
})

t.test('a page states whether there are more, and pages neither skip nor repeat a row', async (t) => {
  const rows = Array.from({ length: 7 }, (_, index) => ({ id: String(9 - index) }))
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const after: string | undefined = cursor === null ? undefined : decodeCursor('rows', 1, cursor)[0]
    const found: { id: string }[] = rows.filter(({ id }) => after === undefined || id < after).slice(0, 4)
    const page: Page<'rows', string> = pageOf('rows', {
      found,
      limit: 3,
      keyOf: ({ id }) => [id],
      present: ({ id }) => id,
    })
    seen.push(...page.rows)
    cursor = page.next_cursor
    t.equal(page.has_more, cursor !== null)
    rows.unshift({ id: `A${seen.length}` })
  } while (cursor !== null)
  t.strictSame(seen, ['9', '8', '7', '6', '5', '4', '3'])
  const none = pageOf('rows', { found: [], limit: 3, keyOf: () => [], present: (row: string) => row })
  t.strictSame(none, { rows: [], next_cursor: null, has_more: false })
})

t.test('a bucket refills with time, up to its capacity, and its memory is bounded', async (t) => {
  let now = 1_000
  const buckets = new TokenBuckets({ capacity: 3, refillPerSecond: 2, maxKeys: 10 }, () => now)
  t.strictSame(
    [1, 2, 3, 4].map(() => buckets.take('a')),
    [2, 1, 0, -1],
  )
  t.equal(buckets.secondsUntilOne('a'), 1)
  t.equal(buckets.secondsToGain(3), 2)
  now += 500
  t.equal(buckets.take('a'), 0)
  now -= 10_000
  t.equal(buckets.take('a'), -1, 'a clock that goes back refills nothing')
  now += 3_600_000
  t.equal(buckets.take('a'), 2, 'a bucket refills to its capacity at most')
  t.equal(buckets.take('a', 3), -1, 'a request of cost 3 needs 3 tokens')
  t.equal(buckets.take('b', 100), 0, 'a request that costs more than the capacity needs a full bucket')
  for (let key = 0; key < 10_000; key++) buckets.take(`key ${key}`)
  t.ok(buckets.size <= 10, `the limiter stores ${buckets.size} keys`)
  t.equal(buckets.take('key 9999'), 1, 'the limiter still stores the newest key')
})

t.test('failures count by IPv4 address and by IPv6 network', async (t) => {
  t.equal(addressKey('192.0.2.1'), '192.0.2.1')
  t.equal(addressKey('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(addressKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  t.equal(addressKey('2001:db8:1:2::9'), '2001:db8:1:2::/64')
  t.equal(addressKey('2001:db8::9'), '2001:db8:0:0::/64')
  t.equal(addressKey('::1'), '0:0:0:0::/64')
  t.equal(addressKey('fe80::1%eth0'), 'fe80:0:0:0::/64')

  let now = 0
  const limit = createRateLimit(0, () => now)
  let failed = 0
  while (limit.admitFailure(`2001:db8:1:2::${failed.toString(16)}`) === null && failed < 1_000) failed += 1
  t.equal(failed, 100, '100 failures are admitted at once')
  t.equal(limit.admitFailure('2001:db8:1:3::1'), null, 'the neighbouring IPv6 network has its own limit')
  now += 200
  t.equal(limit.admitFailure('2001:db8:1:2::1'), null, '5 failures a second are admitted after that')
})

t.test('a request is for the environment of its key', async (t) => {
  const caller = { tenantId: 'acme', keyId: 'key_1', environment: 'testnet' as const, scopes: new Set<string>() }
  t.equal(environmentOf(caller, undefined), 'testnet')
  t.equal(environmentOf(caller, 'testnet'), 'testnet')
  t.throws(() => environmentOf(caller, 'mainnet'), { type: 'permission_error', code: 'environment_mismatch' })
})
