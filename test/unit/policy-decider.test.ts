/** Drafts, shadows and versions of a policy: its decider, its events and its rows. */
import t from 'tap'
import type { Policy } from '../../src/core/policy.ts'
import { policyAggregate } from '../../src/policies/aggregate.ts'
import { type PolicyCommand, policyDecider } from '../../src/policies/decider.ts'
import type { PolicyEvent } from '../../src/policies/events.ts'
import { givenOf } from '../support/given.ts'

const NOW = '2026-12-02T12:00:00.000Z'
const LATER = '2026-12-02T13:00:00.000Z'
const KEY = 'key_1'
const policyOf = (fallback: Policy['default'], lists: Policy['lists'] = {}): Policy => ({
  default: fallback,
  maxPriceAgeSeconds: 90_000,
  lists,
  rules: [],
})
const [ALLOWS, DENIES] = [policyOf('allow'), policyOf('deny')]
const changed = { by: KEY, now: NOW }

const draft = (policy: Policy, revision = 0): PolicyCommand => ({
  ...{ type: 'DraftPolicy', tenantId: 'acme', environment: 'mainnet', revision, policy, note: null },
  ...changed,
})
const shadow = (hash: string, revision = 1, isSeeded = false): PolicyCommand => ({
  ...{ type: 'ShadowPolicy', revision, hash, isSeeded },
  ...changed,
})
const publish = (
  source: { readonly revision: number } | { readonly version: number },
  hash: string,
  more: Partial<Extract<PolicyCommand, { type: 'PublishPolicy' }>> = {},
): PolicyCommand => ({
  ...{ type: 'PublishPolicy', source, hash, basis: 'counted', uncounted: [], locksOut: false, forced: null },
  ...changed,
  ...more,
})

const drafted = (policy: Policy, revision = 1): PolicyEvent => ({
  type: 'PolicyDrafted',
  data: { tenantId: 'acme', environment: 'mainnet', revision, policy, note: null, draftedBy: KEY, draftedAt: NOW },
})
const shadowed = (version: number, policy: Policy, hash: string, isSeeded = false, revision = 1): PolicyEvent => ({
  type: 'PolicyShadowed',
  data: { version, revision, policy, hash, isSeeded, shadowedBy: KEY, shadowedAt: NOW },
})
const ended = (version: number): PolicyEvent => ({
  type: 'PolicyShadowEnded',
  data: { version, endedBy: KEY, endedAt: NOW },
})
type Published = Extract<PolicyEvent, { type: 'PolicyPublished' }>['data']
const published = (version: number, policy: Policy, hash: string, more: Partial<Published> = {}): PolicyEvent => ({
  type: 'PolicyPublished',
  data: {
    ...{ version, revision: 1, policy, hash, previousVersion: 0, previousHash: null, basis: 'counted', forced: null },
    ...{ publishedBy: KEY, publishedAt: NOW },
    ...more,
  },
})

const given = givenOf(policyDecider)

t.test('of two drafts that replace the same revision, the second is refused', async (t) => {
  given().when(draft(ALLOWS)).expect(t, drafted(ALLOWS))
  given(drafted(ALLOWS)).when(draft(DENIES, 1)).expect(t, drafted(DENIES, 2))
  given(drafted(ALLOWS)).when(draft(ALLOWS, 1)).expect(t)
  given(drafted(ALLOWS)).when(draft(ALLOWS, 0)).expect(t)
  given(drafted(ALLOWS))
    .when(draft(DENIES))
    .fails(t, { code: 'policy_changed', details: { revision: 1, version: null, shadow_version: null } })
  given()
    .when(draft(ALLOWS, 1))
    .fails(t, { code: 'policy_changed', details: { revision: 0 } })
})

t.test('nothing is shadowed or published without a draft, nor another draft than the one that was read', async (t) => {
  for (const command of [shadow('a'), publish({ revision: 1 }, 'a'), publish({ version: 1 }, 'a')])
    given().when(command).fails(t, 'policy_changed')
  const state = given(drafted(ALLOWS), drafted(DENIES, 2))
  state.when(shadow('a', 1)).fails(t, { code: 'policy_changed', details: { revision: 2 } })
  state.when(publish({ revision: 1 }, 'a')).fails(t, 'policy_changed')
  state.when(publish({ version: 1 }, 'a')).fails(t, 'policy_changed')
})

t.test('a shadow gets a number, keeps it when it is published, and no number is used twice', async (t) => {
  given(drafted(ALLOWS))
    .when(shadow('a'))
    .expect(t, shadowed(1, ALLOWS, 'a'))
  const inShadow = given(drafted(ALLOWS), shadowed(1, ALLOWS, 'a'))
  inShadow.when(shadow('a')).expect(t)
  inShadow
    .when(publish({ version: 1 }, 'a', { basis: 'seeded' }))
    .expect(t, published(1, ALLOWS, 'a', { basis: 'seeded' }))
  const other = given(drafted(ALLOWS), shadowed(1, ALLOWS, 'a'), drafted(DENIES, 2))
  other.when(shadow('b', 2)).expect(t, ended(1), shadowed(2, DENIES, 'b', false, 2))
  const gone = given(drafted(ALLOWS), shadowed(1, ALLOWS, 'a'), ended(1))
  gone.when(publish({ version: 1 }, 'a')).fails(t, 'policy_changed')
  gone.when(publish({ revision: 1 }, 'a')).expect(t, published(2, ALLOWS, 'a'))
})

t.test('a draft that is published ends the shadow, and names the version before with its hash', async (t) => {
  const state = given(drafted(ALLOWS), published(1, ALLOWS, 'a'), drafted(DENIES, 2), shadowed(2, DENIES, 'b', true, 2))
  const previous = { previousVersion: 1, previousHash: 'a', revision: 2 }
  state.when(publish({ revision: 2 }, 'b')).expect(t, ended(2), published(3, DENIES, 'b', previous))
  state.when(publish({ version: 2 }, 'b')).expect(t, published(2, DENIES, 'b', previous))
  state.when(publish({ version: 1 }, 'a')).expect(t)
})

t.test('what may lack what was spent before is not published, nor what leaves no key able to publish', async (t) => {
  const state = given(drafted(DENIES))
  const unseeded = publish({ revision: 1 }, 'a', { basis: null, uncounted: ['daily-cap'] })
  state.when(unseeded).fails(t, { code: 'policy_not_seeded', details: { rules: ['daily-cap'] } })
  state.when(publish({ revision: 1 }, 'a', { locksOut: true })).fails(t, 'policy_locks_out')
  const forced = publish({ revision: 1 }, 'a', { locksOut: true, forced: 'we close' })
  state.when(forced).expect(t, published(1, DENIES, 'a', { forced: 'we close' }))
  const needless = publish({ revision: 1 }, 'a', { forced: 'to be sure' })
  state.when(needless).expect(t, published(1, DENIES, 'a'))
})

t.test('a shadow is seeded once', async (t) => {
  const seed = (version: number): PolicyCommand => ({ type: 'SeedPolicy', version, now: LATER })
  const seeded: PolicyEvent = { type: 'PolicySeeded', data: { version: 1, seededAt: LATER } }
  const begun = [drafted(ALLOWS), shadowed(1, ALLOWS, 'a')]
  given(...begun)
    .when(seed(1))
    .expect(t, seeded)
  given(...begun)
    .when(seed(2))
    .expect(t)
  const done = given(...begun, seeded)
  done.when(seed(1)).expect(t)
  t.match(done.state, { isSeeded: true })
  t.match(given(...begun, seeded, ended(1)).state, { isSeeded: false })
})

t.test('a shadow is ended once, and only the one that was read', async (t) => {
  const end = (version: number): PolicyCommand => ({ type: 'EndShadow', version, ...changed })
  const state = given(drafted(ALLOWS), shadowed(1, ALLOWS, 'a'))
  state.when(end(1)).expect(t, ended(1))
  state.when(end(2)).fails(t, 'policy_changed')
  given(drafted(ALLOWS)).when(end(1)).expect(t)
})

t.test('policies that are recorded in a day have a bound', async (t) => {
  const large = (n: number) =>
    policyOf('allow', { [`list${n}`]: Array.from({ length: 10_000 }, () => '0x'.padEnd(42, 'a')) })
  const events: PolicyEvent[] = []
  const next = (now: string) => ({ ...draft(large(events.length), events.length), now }) as PolicyCommand
  const add = (now: string) => events.push(...policyDecider.decide(next(now), given(...events).state))
  for (let n = 0; n < 17; n += 1) add(NOW)
  given(...events)
    .when(next(LATER))
    .fails(t, 'policy_changes_exhausted')
  add('2026-12-03T00:00:00.000Z')
  t.equal(events.length, 18)
})

t.test('each version has a row that says what became of it', async (t) => {
  const rows = new Map<number, string>()
  const events = [
    drafted(ALLOWS),
    published(1, ALLOWS, 'a'),
    drafted(DENIES, 2),
    shadowed(2, DENIES, 'b', false, 2),
    ended(2),
    shadowed(3, DENIES, 'b', true, 2),
    published(3, DENIES, 'b', { previousVersion: 1, previousHash: 'a', revision: 2 }),
  ]
  for (const n of events.keys()) {
    const [before, after] = [given(...events.slice(0, n)).state, given(...events.slice(0, n + 1)).state]
    const context = { id: 'acme-mainnet', tenantId: 'acme', version: n + 1, recordedAt: NOW }
    for (const { table, row } of policyAggregate.project(before, after, context).rows)
      if (table === 'policy_versions') rows.set(row.policy_version, row.status)
      else t.match(row, { tenant_id: 'acme', environment: 'mainnet', version: n + 1 })
  }
  t.strictSame(
    [...rows],
    [
      [1, 'replaced'],
      [2, 'ended'],
      [3, 'active'],
    ],
  )
  const context = { id: 'acme-mainnet', tenantId: 'acme', version: 7, recordedAt: NOW }
  const [last] = policyAggregate.project(policyDecider.initialState, given(...events).state, context).rows
  t.match(last?.row, { active_version: 3, shadow_version: 0, shadow_seeded: false, draft_revision: 2 })
})
