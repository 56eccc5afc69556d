/** The commands of a joint key and their refusals, and the resulting rows and jobs. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import type { BursarError } from '../../src/core/errors.ts'
import { upcast } from '../../src/event-log/aggregate.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { refreshWork } from '../../src/mpc-wallets/capability.ts'
import { type MpcKeyCommand, mpcKeyDecider } from '../../src/mpc-wallets/decider.ts'
import type { MpcKeyEvent } from '../../src/mpc-wallets/events.ts'
import { toJointKey } from '../../src/mpc-wallets/joint-keys.ts'
import { keyIdOf } from '../../src/mpc-wallets/key-of-wallet.ts'
import type { KnownMpcKey, MpcKeyState } from '../../src/mpc-wallets/state.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:05:00.000Z'

/** The event as recorded. */
function golden<Evt extends MpcKeyEvent>(type: Evt['type'], changes: Partial<Evt['data']> = {}): Evt {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  const event = upcast<Evt>(mpcKeyAggregate.schemas, type, file.schema_version, file.data)
  return { ...event, data: { ...event.data, ...changes } }
}

const generated = golden('MpcKeyGenerated')
const assigned = golden('MpcKeyAssigned')
const requested = golden('MpcSharesRefreshRequested')
const refreshed = golden('MpcSharesRefreshed')
const failed = golden('MpcSharesRefreshFailed')
const banned = golden('MpcPartyBanned')
const accused = golden('MpcPartyAccused')
const { refreshId } = requested.data as { refreshId: string }

const request = {
  type: 'RequestRefresh',
  refreshId: 'rfr_2',
  reason: 'requested',
  party: null,
  now: LATER,
} as const
const record = { type: 'RecordRefresh', refreshId, attemptId: 'rfr_9', fromEpoch: 0, now: LATER } as const
const giveUp = { type: 'GiveUpRefresh', refreshId, code: 'c', message: 'm', now: LATER } as const
const accuse = { type: 'AccuseParty', party: 2, epoch: 0, accusedBy: 1, reason: 'why', now: LATER } as const
const assign = { type: 'Assign', walletId: 'wal_2', tenantId: 'globex', now: LATER } as const

const given = givenOf(mpcKeyDecider)

function known(...events: readonly MpcKeyEvent[]): KnownMpcKey {
  const { state } = given(...events)
  if (state.status === 'unknown') throw new Error('the key is unknown')
  return state
}

t.test('a key is generated once, is in the pool, and is given to one wallet only', async (t) => {
  const command = { type: 'RecordGeneration', generated: generated.data } as MpcKeyCommand
  given().when(command).expect(t, generated)
  given(generated).when(command).fails(t, 'mpc_key_exists')
  t.match(known(generated), { status: 'pooled', wallet: null, epoch: 0, attemptId: null, refreshedAt: NOW })
  given(generated)
    .when(assign)
    .expect(t, { type: 'MpcKeyAssigned', data: { walletId: 'wal_2', tenantId: 'globex', assignedAt: LATER } })
  given(generated, assigned).when(assign).fails(t, 'mpc_key_assigned')
  const again = { ...assign, walletId: (assigned.data as { walletId: string }).walletId }
  given(generated, assigned).when(again).expect(t)
  t.match(known(generated, assigned), { status: 'assigned', wallet: { tenantId: 'acme' } })
})

t.test('nothing can be done to a key that does not exist', async (t) => {
  for (const command of [assign, request, record, giveUp, accuse]) given().when(command).fails(t, 'mpc_key_not_found')
})

t.test('shares are refreshed by one ceremony at a time', async (t) => {
  const data = { refreshId: 'rfr_2', reason: 'requested', party: null, requestedAt: LATER }
  given(generated, assigned).when(request).expect(t, { type: 'MpcSharesRefreshRequested', data })
  const details = { refresh_id: refreshId, reason: 'recovery' }
  given(generated, assigned, requested).when(request).fails(t, { code: 'refresh_in_progress', details })
  given(generated, assigned, requested)
    .when({ ...request, refreshId })
    .expect(t)
  for (const end of [refreshed, failed]) {
    given(generated, assigned, requested, end).when(request).expect(t, { type: 'MpcSharesRefreshRequested', data })
  }
})

t.test('a share is recovered for a party that has one', async (t) => {
  const recovery = { ...request, reason: 'recovery', party: 3 } as const
  const data = { refreshId: 'rfr_2', reason: 'recovery', party: 3, requestedAt: LATER }
  given(generated, assigned).when(recovery).expect(t, { type: 'MpcSharesRefreshRequested', data })
  for (const party of [0, 4]) {
    const message = `party must be one of 1, 2, 3, which hold shares of this wallet, not ${party}.`
    given(generated, assigned)
      .when({ ...recovery, party })
      .fails(t, { code: 'not_allowed', field: 'party', message })
  }
})

t.test('the first recorded attempt of a refresh counts, and it names the parties with shares', async (t) => {
  given(generated, assigned, requested)
    .when(record)
    .expect(t, {
      type: 'MpcSharesRefreshed',
      data: { epoch: 1, refreshId, attemptId: 'rfr_9', reason: 'recovery', party: 3, refreshedAt: LATER },
    })
  const { attemptId } = refreshed.data as { attemptId: string }
  t.match(known(generated, assigned, requested, refreshed), {
    epoch: 1,
    attemptId,
    refreshedAt: NOW,
    refresh: { status: 'refreshed', epoch: 1, endedAt: NOW, failure: null },
  })
  given(generated, assigned, requested, refreshed).when(record).expect(t)
  given(generated, assigned, requested, failed).when(record).expect(t)
  given(generated, assigned).when(record).expect(t)
  given(generated, assigned, requested)
    .when({ ...record, refreshId: 'rfr_other' })
    .expect(t)
  given(generated, assigned, requested)
    .when({ ...record, fromEpoch: 1 })
    .expect(t)
})

t.test('a refresh that is given up does not change the shares', async (t) => {
  given(generated, assigned, requested)
    .when(giveUp)
    .expect(t, { type: 'MpcSharesRefreshFailed', data: { refreshId, code: 'c', message: 'm', failedAt: LATER } })
  given(generated, assigned, requested, refreshed).when(giveUp).expect(t)
  given(generated, assigned, requested, failed).when(giveUp).expect(t)
  t.match(known(generated, assigned, requested, failed), {
    epoch: 0,
    attemptId: null,
    refreshedAt: NOW,
    refresh: { status: 'failed', epoch: 0, failure: { code: 'mpc_parties_unavailable' }, endedAt: NOW },
  })
})

t.test('an accusation by one party bans nobody: the two do not sign together', async (t) => {
  const data = { party: 2, epoch: 0, accusedBy: 1, reason: 'why', accusedAt: LATER }
  given(generated).when(accuse).expect(t, { type: 'MpcPartyAccused', data })
  const first = golden('MpcPartyAccused', { party: 2, accusedBy: 1 })
  given(generated, assigned, first).when(accuse).expect(t)
  given(generated, assigned, first)
    .when({ ...accuse, party: 3 })
    .expect(t, { type: 'MpcPartyAccused', data: { ...data, party: 3 } })
  for (const wrong of [{ party: 7 }, { accusedBy: 7 }, { party: 1 }])
    given(generated, assigned)
      .when({ ...accuse, ...wrong })
      .fails(t, { code: 'not_allowed', field: 'party' })
  matchExactly(t, known(generated, accused), { banned: [], accusations: [{ party: 3, accusedBy: 1 }] })
  t.strictSame(toJointKey('mpk_1', known(generated, accused)).apart, [[1, 3]])
})

t.test('a party accused by as many as the threshold is banned, and a refresh lifts the ban', async (t) => {
  const first = golden('MpcPartyAccused', { party: 2, accusedBy: 1 })
  const data = { party: 2, epoch: 0, reason: 'why' }
  given(generated, assigned, first)
    .when({ ...accuse, accusedBy: 3 })
    .expect(
      t,
      { type: 'MpcPartyAccused', data: { ...data, accusedBy: 3, accusedAt: LATER } },
      { type: 'MpcPartyBanned', data: { ...data, reportedBy: 3, bannedAt: LATER } },
    )
  given(golden('MpcKeyGenerated', { threshold: 3 }), assigned, first)
    .when({ ...accuse, accusedBy: 3 })
    .expect(t, { type: 'MpcPartyAccused', data: { ...data, accusedBy: 3, accusedAt: LATER } })
  given(generated, assigned, first, banned)
    .when({ ...accuse, accusedBy: 3 })
    .expect(t, { type: 'MpcPartyAccused', data: { ...data, accusedBy: 3, accusedAt: LATER } })
  const other = golden('MpcPartyBanned', { party: 1 })
  t.strictSame(known(generated, assigned, banned, other, banned).banned, [1, 2])
  const asked = [generated, assigned, banned, first, requested]
  matchExactly(t, known(...asked), { banned: [2], accusations: [{}] }, 'the ban remains')
  matchExactly(t, known(...asked, refreshed), { banned: [], accusations: [] })
  given(generated, assigned, requested, refreshed).when(accuse).expect(t)
})

/** Commands with small ids, so that they interact. */
const anyCommand: fc.Arbitrary<MpcKeyCommand> = fc.oneof(
  fc.constant<MpcKeyCommand>(assign),
  fc.nat(3).map((n): MpcKeyCommand => ({ ...request, refreshId: `rfr_${n}` })),
  fc.nat(3).map((n): MpcKeyCommand => ({ ...request, refreshId: `rfr_${n}`, reason: 'recovery', party: 1 + (n % 3) })),
  fc
    .tuple(fc.nat(3), fc.nat(3))
    .map(([n, fromEpoch]): MpcKeyCommand => ({ ...record, refreshId: `rfr_${n}`, fromEpoch })),
  fc.nat(3).map((n): MpcKeyCommand => ({ ...giveUp, refreshId: `rfr_${n}` })),
  fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.nat(3))
    .map(([party, accusedBy, epoch]): MpcKeyCommand => ({ ...accuse, party, accusedBy, epoch })),
)

t.test('in any series of commands epochs follow each other, and bans last until the next one', async () => {
  const property = fc.property(fc.array(anyCommand, { maxLength: 60 }), (commands) => {
    let state = known(generated)
    for (const command of commands) {
      let events: readonly MpcKeyEvent[] = []
      try {
        events = mpcKeyDecider.decide(command, state)
      } catch {
        continue // A refusal changes nothing.
      }
      const before = state
      state = events.reduce(mpcKeyDecider.evolve, state as MpcKeyState) as KnownMpcKey
      const isRefreshed = events.some(({ type }) => type === 'MpcSharesRefreshed')
      if (state.epoch !== before.epoch + (isRefreshed ? 1 : 0)) return false
      if (isRefreshed ? state.banned.length > 0 : before.banned.some((party) => !state.banned.includes(party)))
        return false
      if (before.wallet !== null && state.wallet !== before.wallet) return false
    }
    return true
  })
  fc.assert(property, { numRuns: 500 })
})

t.test('the rows of a key are its newest state and its newest refresh', async (t) => {
  const rowsOf = (before: readonly MpcKeyEvent[], ...events: MpcKeyEvent[]) => {
    const context = { id: 'mpk_1', tenantId: 'whoever', version: 7, recordedAt: NOW }
    const { state } = given(...before)
    return mpcKeyAggregate.project(state, events.reduce(mpcKeyDecider.evolve, state), context).rows
  }
  matchExactly(t, rowsOf([], generated), [
    { table: 'mpc_keys', row: { key_id: 'mpk_1', wallet_id: null, tenant_id: null, parties: 3, asked_at: null } },
  ])
  const wallet = { wallet_id: /^wal_/, tenant_id: 'acme' }
  matchExactly(t, rowsOf([generated, assigned], requested), [
    { table: 'mpc_keys', row: { ...wallet, open_refresh: refreshId, epoch: 0, attempt_id: null, asked_at: NOW } },
    { table: 'mpc_refreshes', row: { refresh_id: refreshId, key_id: 'mpk_1', status: 'pending', ended_at: null } },
  ])
  matchExactly(t, rowsOf([generated, assigned, requested], refreshed), [
    { table: 'mpc_keys', row: { ...wallet, open_refresh: null, epoch: 1, attempt_id: /^rfr_/, version: 7 } },
    { table: 'mpc_refreshes', row: { status: 'refreshed', epoch: 1, ended_at: NOW } },
  ])
  t.strictSame(
    rowsOf([generated, requested, refreshed], banned).map(({ table }) => table),
    ['mpc_keys'],
    'a refresh that had ended before is not written again',
  )
  t.strictSame(rowsOf([]), [])
})

t.test('the parties get the valid attempt and the banned parties', async (t) => {
  const key = known(generated, assigned, requested, refreshed, golden('MpcPartyBanned', { epoch: 1 }))
  t.strictSame(toJointKey('mpk_1', key), {
    keyId: 'mpk_1',
    threshold: 2,
    parties: [1, 2, 3],
    epoch: 1,
    refreshId: (refreshed.data as { attemptId: string }).attemptId,
    publicKey: (generated.data as { publicKey: string }).publicKey,
    address: (generated.data as { address: string }).address,
    banned: [2],
    apart: [],
  })
})

t.test('a refresh that is asked for has a job, and nothing else has', async (t) => {
  const types = Object.keys(mpcKeyAggregate.schemas)
  const jobs = types.flatMap((type) => refreshWork.jobsOf({ type, streamId: 'mpckey-mpk_1' }).map((job) => [type, job]))
  t.strictSame(jobs, [['MpcSharesRefreshRequested', { queue: 'shares', id: 'mpk_1', data: { key_id: 'mpk_1' } }]])
})

t.test('a request for the shares of a wallet of another type is refused', async (t) => {
  const refusalOf = (type: 'hd' | 'watch' | 'mpc', key: Parameters<typeof keyIdOf>[0]['key']) => {
    try {
      return keyIdOf({ type, key })
    } catch (error) {
      return (error as BursarError).items
    }
  }
  matchExactly(t, refusalOf('hd', { kind: 'hd', tenantId: 'acme', index: 0 }), [
    { field: 'wallet_id', code: 'mpc_only', message: /an hd wallet/ },
  ])
  matchExactly(t, refusalOf('watch', null), [{ field: 'wallet_id', code: 'mpc_only', message: /a watch wallet/ }])
  matchExactly(t, refusalOf('mpc', null), [{ type: 'conflict', code: 'wallet_not_ready' }])
  t.equal(refusalOf('mpc', { kind: 'mpc', keyId: 'mpk_1' }), 'mpk_1')
})

t.test('every version of every event has its file', async (t) => {
  const files = readdirSync(new URL('../golden/events', import.meta.url))
  for (const [type, { version }] of Object.entries(mpcKeyAggregate.schemas))
    for (let n = 1; n <= version; n += 1) t.ok(files.includes(`${type}.v${n}.json`), `${type} version ${n} has a file`)
})
