/** What is in force for a tenant: read from the rows that its events write, at most once a second. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import type { Policy } from '../../src/core/policy.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import type { PolicyCommand } from '../../src/policies/decider.ts'
import { createPoliciesInForce } from '../../src/policies/policies-in-force.ts'
import { withLog } from '../support/log.ts'
import { publishTo } from '../support/published-policy.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const policyOf = (fallback: Policy['default']): Policy => ({
  default: fallback,
  maxPriceAgeSeconds: 90_000,
  lists: {},
  rules: [],
})

t.test(
  'a tenant has what its newest version says, another one nothing, and each version is compiled once',
  async (t) => {
    const { log, pool } = await withLog(t)
    const inForce = createPoliciesInForce(pool)
    const changed = () => ({ by: 'key_1', now: log.now() })
    const run = async (command: PolicyCommand) => {
      const context = { metadata: { tenantId: OWNER.tenantId, actor: 'apikey:key_1' } }
      await log.execute(policyAggregate, policyStreamOf(OWNER), command, context)
      inForce.forget(OWNER)
      return inForce.of(OWNER)
    }
    const draft = (revision: number, fallback: Policy['default']) =>
      run({ type: 'DraftPolicy', ...OWNER, revision, policy: policyOf(fallback), note: null, ...changed() })

    t.same(await inForce.of(OWNER), { active: null, shadow: null, isSeeded: false })
    t.same(await draft(0, 'deny'), { active: null, shadow: null, isSeeded: false })
    const inShadow = await run({ type: 'ShadowPolicy', revision: 1, hash: 'a', isSeeded: true, ...changed() })
    t.match(inShadow, { active: null, shadow: { version: 1, default: 'deny' }, isSeeded: true })
    const publish = { type: 'PublishPolicy', basis: 'counted', uncounted: [], locksOut: false, forced: null } as const
    const active = await run({ ...publish, source: { version: 1 }, hash: 'a', ...changed() })
    t.match(active, { active: { version: 1, default: 'deny' }, shadow: null, isSeeded: false })
    t.equal(active.active, inShadow.shadow, 'it was compiled before')
    await draft(1, 'allow')
    const next = await run({ ...publish, source: { revision: 2 }, hash: 'b', ...changed() })
    t.match(next, { active: { version: 2, default: 'allow' }, shadow: null })
    t.equal(await inForce.of(OWNER), next, 'it is not read again')
    for (const other of [{ ...OWNER, environment: 'testnet' } as const, { ...OWNER, tenantId: 'globex' }])
      t.same(await inForce.of(other), { active: null, shadow: null, isSeeded: false })

    const { rows } = await pool.query('SELECT policy_version, status FROM policy_versions ORDER BY 1')
    t.same(rows, [
      { policy_version: 1, status: 'replaced' },
      { policy_version: 2, status: 'active' },
    ])
    t.same((await compareLive(pool, LOG_CONTENTS)).differences, [])
  },
)

t.test(
  'a lost version is not that of the same number which is published after a restore of the database',
  async (t) => {
    const { log, pool } = await withLog(t)
    const inForce = createPoliciesInForce(pool)
    const published = async (fallback: Policy['default']) => {
      await publishTo(log, OWNER, policyOf(fallback))
      inForce.forget(OWNER)
      return (await inForce.of(OWNER)).active
    }
    t.match(await published('allow'), { version: 1, default: 'allow' })
    await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
    for (const table of ['events', 'policies', 'policy_versions']) await pool.query(`DELETE FROM ${table}`)
    await pool.query('ALTER TABLE events ENABLE TRIGGER USER')
    t.match(await published('deny'), { version: 1, default: 'deny' })
  },
)
