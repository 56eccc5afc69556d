/** When a limit that refuses requests is reported again. */
import t from 'tap'
import { keyLimitAggregate } from '../../src/access/limit-aggregate.ts'
import type { ApiKeyLimitReached } from '../../src/access/limit-events.ts'
import type { KeyLimit } from '../../src/core/key-limits.ts'
import { givenOf } from '../support/given.ts'

const HOUR = 3_600
const DAY_MS = 86_400_000
const usd: KeyLimit = { of: 'usd', counter: 'key_1 usd 3600', amount: '5', windowSeconds: HOUR, inherited: false }
const month: KeyLimit = { ...usd, counter: 'key_1 usd 2678400', windowSeconds: 31 * 24 * HOUR }
const requests: KeyLimit = { ...usd, of: 'requests', counter: 'key_1 requests 86400', windowSeconds: 86_400 }

const given = givenOf(keyLimitAggregate)

/** How many of these refusals are reported, each at so many hours. */
function reported(...refusals: readonly (readonly [hours: number, limit?: KeyLimit])[]): number {
  const events: ApiKeyLimitReached[] = []
  for (const [hours, limit = usd] of refusals) {
    const reachedAt = new Date(Date.parse('2026-12-01T00:00:00.000Z') + hours * HOUR * 1_000).toISOString()
    const nextDay = new Date(Math.floor(Date.parse(reachedAt) / DAY_MS + 1) * DAY_MS).toISOString()
    const availableAt = limit.of === 'requests' ? nextDay : null
    const report = { environment: 'mainnet', limit, left: '1', needed: '2', availableAt, reachedAt } as const
    events.push(...keyLimitAggregate.decide({ type: 'ReportLimit', report }, given(...events).state))
  }
  return events.length
}

t.test('a limit is reported at most once a day, and at most once in its window', (t) => {
  t.equal(reported([0], [0], [1], [23.9]), 1)
  t.equal(reported([0], [24], [47.9], [48]), 3)
  t.equal(reported([0, month], [24, month], [30 * 24, month]), 1)
  t.equal(reported([0, month], [31 * 24, month]), 2)
  t.equal(reported([0], [-5], [-48]), 1, 'a clock that steps back repeats none')
  t.end()
})

t.test('a limit of requests is reported on each day that it refuses some, however early', (t) => {
  t.equal(reported([18, requests], [23.9, requests]), 1)
  t.equal(reported([18, requests], [41, requests], [47, requests], [48, requests]), 3, 'an hour earlier each day')
  t.equal(reported([18, requests], [-1, requests], [-30, requests]), 1, 'a clock that steps back repeats none')
  t.end()
})

t.test('another limit, and a limit with another amount, has a report of its own', (t) => {
  t.equal(reported([0], [0, month], [0]), 2)
  t.equal(reported([0], [1, { ...usd, amount: '6' }], [2, { ...usd, amount: '6' }]), 2)
  t.end()
})
