/** What a request that is not appended says of the limits of its key: the same as the append. */
import t from 'tap'
import { watchedFor } from '../../src/contract-calls/request-call.ts'
import type { Reservation, SpendLimit } from '../../src/core/spend-limits.ts'
import { type RoomContext, requireRoom } from '../../src/transactions/limits.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-30T12:34:56.789Z'
const NEWEST_MS = Date.parse(NOW)
const BUCKET = '2026-11-30T12:30:00.000Z'
const reservation = (amount: bigint, more: Partial<Reservation> = {}): Reservation => ({
  counter: 'key_1 eip155:1/slip44:60 86400',
  unit: 'ETH',
  decimals: 18,
  bucket: BUCKET,
  windowSeconds: 86_400,
  limit: 10n ** 18n,
  amount,
  kept: 0n,
  ...more,
})
const opening = (...reservations: readonly Reservation[]) => ({
  ...{ environment: 'mainnet' as const, walletId: 'wal_1', chainId: 1, requestedAt: NOW },
  reservations,
})
const ports = (newestMs: number | null, spent = 0n): RoomContext => ({
  readSpent: async (counters) => new Map(counters.map(({ counter }) => [counter, [{ bucket: BUCKET, amount: spent }]])),
  newestBlockMs: async () => newestMs,
})

t.test('what several transactions need together has to fit, and the message has its unit', async (t) => {
  const half = opening(reservation(5n * 10n ** 17n))
  await t.resolves(requireRoom(ports(NEWEST_MS), [half, half]))
  await t.rejects(requireRoom(ports(NEWEST_MS, 1n), [half, half]), {
    code: 'key_limit',
    message: /^The API key has 0\.999999999999999999 ETH left, and this needs 1 ETH\. There is room for it at /,
    shortfall: { needed: 10n ** 18n },
  })
  await t.rejects(requireRoom(ports(NEWEST_MS), [half, half, half]), {
    message: /this needs 1\.5 ETH\. It is more than/,
  })
})

t.test('a chain whose newest block is old, or that has none, is refused as by the append', async (t) => {
  const unknown = { code: 'limit_time_unknown', retryable: true }
  await t.resolves(requireRoom(ports(Date.parse(BUCKET) - 300_000), [opening(reservation(1n))]))
  await t.rejects(requireRoom(ports(Date.parse(BUCKET) - 300_001), [opening(reservation(1n))]), unknown)
  await t.rejects(requireRoom(ports(null), [opening(reservation(1n))]), unknown)
  await t.rejects(requireRoom(ports(null, 10n ** 18n), [opening(reservation(1n))]), unknown, 'before what is left')
  await t.resolves(requireRoom(ports(null), [opening()]), 'a key without limits does not need it')
})

t.test('a call without limits of amounts reads no balance for them', (t) => {
  const call = { to: '0x5FbDB2315678afecb367f032d93F642f64180aa3', data: '0x' } as Parameters<typeof watchedFor>[1]
  const sender = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' } as Parameters<typeof watchedFor>[2]
  const count: SpendLimit = { of: 'transactions', counter: 'c', amount: '1', windowSeconds: 3_600 }
  t.strictSame(watchedFor({ limits: [], isJudged: false }, call, sender), [])
  t.strictSame(watchedFor({ limits: [count], isJudged: false }, call, sender), [])
  matchExactly(t, watchedFor({ limits: [count, { ...count, of: 'usd' }], isJudged: false }, call, sender), [
    { target: call.to },
  ])
  matchExactly(
    t,
    watchedFor({ limits: [], isJudged: true }, call, sender),
    [{ target: call.to }],
    'a policy asks for it',
  )
  t.end()
})
