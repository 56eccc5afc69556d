/** What was in force at a place of the log, as signers read it: from verified streams, which never go back. */
import t from 'tap'
import type { Policy } from '../../src/core/policy.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import type { PolicyCommand } from '../../src/policies/decider.ts'
import { createRecordedPolicies, type InForceAt } from '../../src/policies/recorded-policies.ts'
import { createRowsOf, type NewestEvent } from '../../src/transactions/recorded-rows.ts'
import { withLog } from '../support/log.ts'
import { listing } from '../support/plans.ts'
import { publishTo } from '../support/published-policy.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const STREAM = `policy-${policyStreamOf(OWNER)}`
const LAST = 10n ** 12n
const policyOf = (maxPriceAgeSeconds: number): Policy => {
  return { default: 'allow', maxPriceAgeSeconds, lists: {}, rules: [] }
}
const versions = (found: InForceAt | string | undefined) =>
  typeof found === 'object' ? [found.active?.version ?? 0, found.shadow?.version ?? 0] : found

async function shadow(log: EventLog, policy: Policy): Promise<void> {
  const run = (command: PolicyCommand) =>
    log.execute(policyAggregate, policyStreamOf(OWNER), command, {
      metadata: { tenantId: 'acme', actor: 'apikey:key_1' },
    })
  const { state } = await log.load(policyAggregate, policyStreamOf(OWNER))
  const revision = state.status === 'unknown' ? 0 : state.draft.revision
  const by = { by: 'key_1', now: log.now() }
  await run({ type: 'DraftPolicy', ...OWNER, revision, policy, note: null, ...by })
  await run({ type: 'ShadowPolicy', revision: revision + 1, hash: `${revision}`, isSeeded: true, ...by })
}

t.test('each place of the log has the versions of the events before it, and their rules', async (t) => {
  const { log, pool } = await withLog(t)
  const policies = createRecordedPolicies(pool)
  const at = async (position: bigint) => (await policies.inForceAt([{ ...OWNER, position }]))[0]
  t.strictSame(versions(await at(LAST)), [0, 0], 'no policy')
  for (const age of [60, 120]) await publishTo(log, OWNER, policyOf(age))
  t.strictSame(versions(await at(LAST)), [2, 0], 'what was published since is read')
  await shadow(log, policyOf(180))
  t.strictSame(versions(await at(LAST)), [2, 3])
  // More than one statement reads.
  for (let n = 4; n < 20; n += 1) await publishTo(log, OWNER, policyOf(60 * n))
  const fresh = createRecordedPolicies(pool)
  const { rows } = await pool.query<{ position: string; type: string; version: number | null }>(
    `SELECT position, type, (data->>'version')::integer AS version FROM events WHERE stream_id = $1 ORDER BY stream_version`,
    [STREAM],
  )
  const state: [active: number, shadow: number] = [0, 0]
  for (const { position, type, version } of rows) {
    for (const reader of [policies, fresh])
      t.strictSame(
        versions((await reader.inForceAt([{ ...OWNER, position: BigInt(position) }]))[0]),
        state,
        `before ${type} ${version ?? ''}`,
      )
    if (type === 'PolicyShadowed') state[1] = version ?? 0
    if (type === 'PolicyShadowEnded') state[1] = 0
    if (type === 'PolicyPublished') state[0] = version ?? 0
  }
  const newest = await at(LAST)
  if (typeof newest !== 'object' || newest.active === null) throw new Error('nothing is in force')
  t.match(await fresh.rulesOf(OWNER, newest.active), { version: 19, maxPriceAgeMs: 60 * 19_000 })
  t.strictSame(versions((await policies.inForceAt([{ ...OWNER, environment: 'testnet', position: LAST }]))[0]), [0, 0])
})

t.test('an event that was edited, and a stream that went back, are not believed', async (t) => {
  const { log, pool } = await withLog(t)
  await publishTo(log, OWNER, policyOf(60))
  const [before, policies] = [createRecordedPolicies(pool), createRecordedPolicies(pool)]
  const at = async (reader = policies) => versions((await reader.inForceAt([{ ...OWNER, position: LAST }]))[0])
  t.strictSame(await at(), [1, 0])
  t.strictSame(await at(before), [1, 0])
  await publishTo(log, OWNER, policyOf(120))
  t.strictSame(await at(), [2, 0])

  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  const edit = (version: number) =>
    pool.query(
      `UPDATE events SET data = jsonb_set(data::jsonb, '{policy,default}', '"deny"')::json WHERE stream_id = $1 AND stream_version = $2`,
      [STREAM, version],
    )
  await edit(4)
  t.match(await at(before), /version 4\) does not have the hash/)
  t.match(await at(createRecordedPolicies(pool)), /version 4\) does not have the hash/)
  await pool.query('DELETE FROM events WHERE stream_id = $1 AND stream_version > 2', [STREAM])
  t.match(await at(), /has not all versions of the policy that this process has read/)
  t.strictSame(await at(createRecordedPolicies(pool)), [1, 0], 'after a restart')
})

t.test('with the newest event of the stream, what is remembered is not read again', async (t) => {
  const { log, pool } = await withLog(t)
  const { spy, asked } = listing(pool)
  const policies = createRecordedPolicies(spy)
  const newest = async () => (await createRowsOf(pool)([], [STREAM])).newest.get(STREAM) ?? null
  const at = async (newestOfPolicy: NewestEvent | null) => {
    asked.length = 0
    const [found] = await policies.inForceAt([{ ...OWNER, position: LAST, newestOfPolicy }])
    return { versions: versions(found), reads: asked.length }
  }
  t.strictSame(await at(await newest()), { versions: [0, 0], reads: 0 }, 'no policy, nothing is read')
  await publishTo(log, OWNER, policyOf(60))
  const first = await newest()
  t.strictSame((await at(first)).versions, [1, 0])
  t.strictSame(await at(first), { versions: [1, 0], reads: 0 })
  await publishTo(log, OWNER, policyOf(120))
  const second = await newest()
  const read = await at(second)
  t.strictSame(read.versions, [2, 0])
  t.ok(read.reads > 0)
  t.strictSame(await at(second), { versions: [2, 0], reads: 0 })
  for (const gone of [first, null, { version: second?.version ?? 0, hash: first?.hash ?? '' }])
    t.ok((await at(gone)).reads > 0, 'anything else is read')
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  await pool.query('DELETE FROM events WHERE stream_id = $1 AND stream_version > 2', [STREAM])
  t.match((await at(await newest())).versions, /has not all versions of the policy that this process has read/)
  t.match((await at(second)).versions, /has not all versions/, 'also when the one of before is named again')
})
