/** The leases of a process are renewed together, and each is renewed only while its holder asks. */
import type { Pool } from 'pg'
import t from 'tap'
import { createRenewals } from '../../src/event-log/renewals.ts'

type Database = { readonly lost?: ReadonlySet<string>; readonly locked?: string }

/**
 * Renewals on a database in which other holders have the leases `lost`, and a session keeps the row of `locked`; the
 * names of each statement.
 */
function renewing(renewalMs: number, { lost = new Set(), locked }: Database = {}) {
  const statements: string[][] = []
  const query = async ({ values: [names, fences] }: { values: [string[], string[]] }) => {
    statements.push(names)
    if (locked !== undefined && names.includes(locked)) throw new Error('canceling statement due to lock timeout')
    return { rows: names.map((name, index) => ({ name, fence: fences[index], kept: !lost.has(name) })) }
  }
  const pool = { query } as unknown as Pool
  const { begin } = createRenewals({ pool, leaseMs: 3 * renewalMs, renewalMs })
  return { statements, begin: (name: string) => begin({ name, fence: '1' }) }
}

t.test('one statement renews the leases whose holders ask at the same interval', async (t) => {
  const { statements, begin } = renewing(60_000)
  const [one, other] = [begin('one'), begin('other')]
  await one.renew()
  await other.renew()
  t.strictSame(statements.splice(0), [['one'], ['one', 'other']])
  t.equal(await one.renew(), true, 'the statement for the other covers it')
  t.strictSame(statements, [])
  await one.renew()
  t.strictSame(statements, [['one', 'other']], 'a lease is covered once')
})

t.test('a holder learns that its lease was lost from the statement for another', async (t) => {
  const { begin } = renewing(60_000, { lost: new Set(['other']) })
  const [one, other] = [begin('one'), begin('other')]
  t.equal(await other.renew(), false)
  t.equal(await one.renew(), true)
})

t.test('a lease whose holder no longer asks, or has released it, is not renewed for another', async (t) => {
  const { statements, begin } = renewing(20)
  const [one, hung, released] = [begin('one'), begin('hung'), begin('released')]
  await Promise.all([hung.renew(), released.renew()])
  released.end()
  await one.renew()
  t.strictSame(statements.at(-1)?.includes('released'), false)
  while (statements.at(-1)?.includes('hung')) await one.renew()
  t.strictSame(statements.at(-1), ['one'])
})

t.test('a lease whose row somebody keeps locked does not prevent the renewal of others', async (t) => {
  const { statements, begin } = renewing(60_000, { locked: 'locked' })
  const [one, locked] = [begin('one'), begin('locked')]
  await t.rejects(locked.renew(), /lock timeout/)
  statements.length = 0
  t.equal(await one.renew(), true)
  t.strictSame(statements, [['one', 'locked'], ['one']])
})
