/** What an operator sees of policies: the list, and the history of one. */
import t from 'tap'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import type { PolicyCommand } from '../../src/policies/decider.ts'
import { policiesCommand } from '../../src/policies/list-command.ts'
import { runProgramLine } from '../support/cli.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withOperator } from '../support/operator-stage.ts'
import { denyRule, recordedPolicy } from '../support/policies.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const POLICY = recordedPolicy(denyRule('no-exports', { actions: ['export'] }))

t.test('an operator lists policies with their rules, and reads who published what', async (t) => {
  const { pool, log, run } = await withOperator(t)
  const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
  const changed = { by: 'key_1', now: '2026-12-02T12:00:00.000Z' }
  const execute = (command: PolicyCommand) => log.execute(policyAggregate, policyStreamOf(OWNER), command, { metadata })
  const program = { name: 'bursar', description: '', commands: [policiesCommand((task) => task({ pool }))] }
  const list = (...args: string[]) => runProgramLine(program, ['policies', ...args])

  t.match(await list('--json'), { code: 0, out: '{"policies":[]}\n' })
  await execute({ type: 'DraftPolicy', ...OWNER, revision: 0, policy: POLICY, note: 'first', ...changed })
  matchExactly(t, JSON.parse((await list('--json')).out), {
    policies: [{ tenant_id: 'acme', version: null, shadow_version: null, draft_revision: 1, policy: null }],
  })
  const publish = { type: 'PublishPolicy', hash: 'a', basis: 'counted', uncounted: [], locksOut: false } as const
  await execute({ ...publish, source: { revision: 1 }, forced: null, ...changed })
  await execute({
    type: 'DraftPolicy',
    ...OWNER,
    revision: 1,
    policy: { ...POLICY, rules: [] },
    note: null,
    ...changed,
  })
  await execute({ type: 'ShadowPolicy', revision: 2, hash: 'b', isSeeded: false, ...changed })

  const all = await list()
  t.match(all, { code: 0, out: /^acme +mainnet +1 +2026-12-02T12:00:00\.000Z +1, default allow +2 \(not seeded\) +2/m })
  t.notMatch(all.out, /no-exports/)
  t.match((await list('--tenant', 'acme')).out, /acme, mainnet, version 1:\n {2}\{"id":"no-exports","effect":"deny"/)
  matchExactly(t, JSON.parse((await list('--json', '--tenant', 'acme')).out), {
    policies: [{ version: 1, shadow_version: 2, shadow_seeded: false, policy: { rules: [{ id: 'no-exports' }] } }],
  })
  matchExactly(t, JSON.parse((await list('--json', '--tenant', 'globex')).out), { policies: [] })

  const { story } = JSON.parse((await run('explain policy-acme-mainnet --json')).out)
  matchExactly(t, story, [
    { event: 'PolicyDrafted', text: 'draft 1: 1 rule, default allow, "first"', who: /key_1/ },
    { event: 'PolicyPublished', text: 'version 1 published: 1 rule, default allow' },
    { event: 'PolicyDrafted', text: 'draft 2: 0 rules, default allow' },
    { event: 'PolicyShadowed', text: 'draft 2 became the shadow, version 2: 0 rules, default allow, not seeded yet' },
  ])
  t.match(await run('explain policy-nobody-mainnet'), { code: 2, err: /There is no policy nobody-mainnet/ })
  t.match(await run('explain nothing'), { code: 2, err: /policy-<tenant>-<environment>/ })
})
