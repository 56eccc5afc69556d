/**
 * Holds and keys only with their events, on a real PostgreSQL: what an attacker cannot hold, release or claim who has the
 * database login of a process.
 */
import t, { type Test } from 'tap'
import { loginAs } from '../support/database-login.ts'
import { newTransactionId } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { append, decided, heldOf, METADATA, NOW, REFUSED, REQUEST, sent, withTransfers } from '../support/raw-append.ts'

t.test('a hold is what the event of its transaction says, on its wallet', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, newTransactionId(), REQUEST)] })
  const [hold] = own.guards.holds ?? []
  const held = await heldOf(pool)
  const most = '1000000000000000000000000000000'
  for (const holds of [
    [{ ...hold, delta: most, must_fit: false }],
    [{ ...hold, must_fit: false }],
    [{ ...hold, delta: '1' }],
    [{ ...hold, wallet_id: 'wal_2', must_fit: false }],
    [hold, { ...hold, wallet_id: 'wal_2', delta: most, must_fit: false }],
    [hold, { ...hold, wallet_id: 'wal_2', delta: '0', must_fit: false }],
    [{ ...hold, wallet_id: 'wal_1 fits', must_fit: false }],
    [hold, hold, { ...hold, wallet_id: 'wal_1 fits', delta: '-43000', must_fit: false }],
    [hold, hold],
    [],
  ])
    await t.rejects(append(api, { ...own, guards: { holds: holds as object[] } }), REFUSED, JSON.stringify(holds))
  await t.rejects(
    append(api, { guards: { holds: [{ ...hold, delta: most, must_fit: false }] }, events: [], rows: {} }),
    REFUSED,
  )
  await t.rejects(append(api, { ...own, guards: { ...own.guards, releases: [{ ...hold, delta: '-1000' }] } }), REFUSED)
  await t.rejects(
    append(api, { ...own, guards: { releases: own.guards.holds ?? [] } }),
    REFUSED,
    'a hold that may be exceeded',
  )
  t.strictSame(await heldOf(pool), held)
})

t.test('a cancellation releases what its transaction held, once', async (t: Test) => {
  const { pool, log, url, ids } = await withTransfers(t, 2)
  const api = await loginAs(t, { pool, url }, 'api')
  const own = sent({ decisions: [await decided(log, ids[0] ?? '', { type: 'RequestCancellation', now: NOW })] })
  const twice = (own.guards.releases ?? []).map((one) => ({
    ...one,
    delta: `${2n * BigInt((one as { delta: string }).delta)}`,
  }))
  await t.rejects(append(api, { ...own, guards: { releases: twice } }), REFUSED)
  await t.resolves(append(api, own))
  matchExactly(t, await heldOf(pool), [{ wallet_id: 'wal_1', held: '43000' }])
})

t.test('the key of a request is that of an event of its tenant, and names what the event opens', async (t: Test) => {
  const { pool, log, url } = await withTransfers(t)
  const api = await loginAs(t, { pool, url }, 'api')
  const id = newTransactionId()
  const idempotency = { key: 'k', fingerprint: 'f' }
  const opened = await decided(log, id, REQUEST, { ...METADATA, idempotency })
  const own = sent({
    decisions: [opened],
    guards: { idempotency: { tenantId: 'acme', ...idempotency, resourceId: id } },
  })
  const [key] = own.guards.idempotency ?? []
  for (const change of [
    { tenant_id: 'other' },
    { key: 'other' },
    { fingerprint: 'other' },
    { resource_id: 'tx_other' },
  ])
    await t.rejects(append(api, { ...own, guards: { ...own.guards, idempotency: [{ ...key, ...change }] } }), REFUSED)
  await t.rejects(append(api, { guards: { idempotency: [key ?? {}] }, events: [], rows: {} }), REFUSED)
  const another = { ...own.guards, idempotency: [key ?? {}, { ...key, key: 'another' }] }
  await t.rejects(append(api, { ...own, guards: another }), REFUSED, 'more keys than the events have')
  await t.resolves(append(api, own))
})
