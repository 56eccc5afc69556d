/** What happens to a policy is told in the feed, to webhooks, to `explain` and in the audit: once, and as documented. */
import t from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { runCommandLine } from '../support/cli.ts'
import { createClient, type ReplyBody } from '../support/client.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { localWebhooks, withReceiver } from '../support/webhook-receiver.ts'

type Told = {
  readonly id: string
  readonly type: string
  readonly resource: { readonly type: string; readonly id: string }
  readonly data: Readonly<Record<string, unknown>> | null
}
type Audited = {
  readonly event_id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>> | null
  readonly needs_scope: string | null
}

const MALLORY = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const TYPES = ['shadowed', 'seeded', 'shadow_ended', 'published', 'refused'].map((type) => `policy.${type}`)
const STREAM = 'policy-acme-mainnet'

const { service, send } = await withStage(t, { env: await localWebhooks() })
const receiver = await withReceiver(t)
const { api, kernel, baseUrl, env } = service
const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
const post = (path: string, body: object) => api.insist({ method: 'POST', path, body })
const pay = (to: string, amount: string) => api.send(`/v1/wallets/${wallet.id}/transfer`, { to, amount, asset: 'ETH' })
const keyWith = async (...scopes: string[]) => {
  const { token } = await createIssueApiKey(kernel)(
    { tenantId: 'acme', environment: 'mainnet', scopes },
    { actor: 'operator' },
  )
  return createClient(baseUrl, token)
}
const told = async (client = api): Promise<readonly Told[]> =>
  (await client.insist({ path: `/v1/events?limit=1000&types=${TYPES.join(',')}` })).body.data.events

const hook = await post('/v1/webhooks', { url: receiver.urlOf('/policies'), types: TYPES })
t.equal(hook.status, 201, JSON.stringify(hook.body.errors))
receiver.verifyWith('/policies', hook.body.data.secret)

// Something is spent before, so that the first version is seeded.
await send(wallet, '0.01')
const hour = { amount: '1', asset_id: 'eip155:1000001/slip44:60', window_seconds: 3_600 }
const first = await publishOver(api, [
  { id: 'no-mallory', effect: 'deny', match: { recipients: { in: [MALLORY] } } },
  { id: 'hour', effect: 'limit', limit: hour },
])
const second = await publishOver(api, [{ id: 'small', effect: 'deny', match: { recipients: { in: [RECIPIENT] } } }], {
  isShadow: true,
})
const denied: ReplyBody = (await pay(MALLORY, '0.01')).body
await pay(RECIPIENT, '2')
await pay(RECIPIENT, '0.01')
const events = await eventually(async () => {
  const all = await told()
  return all.filter(({ type }) => type === 'policy.refused').length === 3 ? all : null
})
t.equal((await api.insist({ method: 'DELETE', path: '/v1/policies/shadow' })).status, 200)
const all = await eventually(async () => {
  const now = await told()
  return now.some(({ type }) => type === 'policy.shadow_ended') ? now : null
})

t.test('the feed tells each event of a policy once, with what is documented', async (t) => {
  matchExactly(t, denied.errors, [{ code: 'policy_denied' }])
  const ofPolicy = all.filter(({ resource }) => resource.type === 'policy')
  t.strictSame(
    ofPolicy.map(({ type, data }) => [type, data?.version]),
    [
      ['policy.shadowed', first],
      ['policy.seeded', first],
      ['policy.published', first],
      ['policy.shadowed', second],
      ['policy.shadow_ended', second],
    ],
  )
  const at = /Z$/
  const by = /^key_/
  const hash = /^[0-9a-f]{64}$/
  const wanted = [
    { environment: 'mainnet', at, by, hash, rules: 2, draft_revision: 1 },
    { environment: 'mainnet', at, by: null },
    { at, by, hash, rules: 2, draft_revision: 1, previous_version: 0, counting_basis: 'seeded', forced: null },
    { at, by, hash, rules: 1, draft_revision: 2 },
    { at, by },
  ]
  for (const [n, one] of ofPolicy.entries()) t.match(one, { resource: { id: 'mainnet' }, data: wanted[n] })
  t.equal(ofPolicy[0]?.data?.hash, ofPolicy[2]?.data?.hash, 'a published shadow is the same policy')
})

t.test('the feed tells refusals by rule, and what a shadow would refuse', async (t) => {
  const refusals = events.flatMap(({ type, data, resource }) => (type === 'policy.refused' ? [{ data, resource }] : []))
  t.strictSame(refusals.map(({ data }) => `${data?.version} ${data?.rule} ${data?.reason} ${data?.shadow}`).sort(), [
    `${first} hour over_limit false`,
    `${first} no-mallory denied false`,
    `${second} small denied true`,
  ])
  for (const { data, resource } of refusals)
    t.match(
      { data, resource },
      {
        resource: { type: 'policy_refusal' },
        data: { environment: 'mainnet', key_id: /^key_/, wallet_id: wallet.id, first_at: /Z$/, last_at: /Z$/ },
      },
    )
})

t.test('a webhook gets each of them once, in the order of each resource, as the feed has it', async (t) => {
  await receiver.until((delivered) => delivered.length >= all.length)
  const ids = receiver.all.map(({ event }) => event.id)
  t.strictSame(ids.toSorted(), all.map(({ id }) => id).toSorted(), 'each once')
  const isOfPolicy = ({ resource }: { readonly resource: { readonly type: string } }) => resource.type === 'policy'
  t.strictSame(
    receiver.all.map(({ event }) => event).filter(isOfPolicy),
    all.filter(isOfPolicy),
    'the same bytes in the same order',
  )
})

t.test('a key without the scope gets no data, and no webhook with data', async (t) => {
  const lesser = await keyWith('events:read', 'webhooks:read', 'webhooks:write')
  const hidden = await told(lesser)
  t.equal(hidden.length, all.length)
  for (const { data } of hidden) t.notOk(data, 'no data without policies:read')
  const body = { url: receiver.urlOf('/lesser'), types: ['policy.refused'] }
  const refused = await lesser.insist({ method: 'POST', path: '/v1/webhooks', body })
  matchExactly(t, refused, { status: 403, body: { errors: [{ code: 'event_scope_missing' }] } })
})

t.test('explain and the audit tell the history of the policy', async (t) => {
  const { out } = await runCommandLine(await bursarCommands(env), `explain ${STREAM}`)
  const texts = [
    /draft 1: 2 rules, default allow/,
    /draft 1 became the shadow, version 1: 2 rules, default allow, not seeded yet/,
    /the limits of version 1 have what was spent before/,
    /version 1 published: 2 rules, default allow, what was spent before was added up/,
    /draft 2: 1 rule, default allow/,
    /draft 2 became the shadow, version 2: 1 rule, default allow/,
    /the shadow, version 2, ended/,
  ]
  let from = 0
  for (const text of texts) {
    const found = out.slice(from).search(text)
    t.ok(found >= 0, `${text}, after those before it`)
    from += Math.max(found, 0)
  }
  const auditOf = async (client: typeof api): Promise<readonly Audited[]> =>
    (await client.insist({ path: `/v1/audit/events?stream=${STREAM}` })).body.data.events
  const types = ['Drafted', 'Shadowed', 'Seeded', 'Published', 'Drafted', 'Shadowed', 'ShadowEnded']
  const reader = await keyWith('audit:read', 'policies:read')
  const read = await auditOf(reader)
  t.strictSame(
    read.map(({ type }) => type),
    types.map((type) => `Policy${type}`),
  )
  t.match(read[3], { data: { version: 1, previousVersion: 0, policy: { default: 'allow' } }, needs_scope: null })
  for (const { data, needs_scope } of await auditOf(await keyWith('audit:read')))
    t.strictSame({ data, needs_scope }, { data: null, needs_scope: 'policies:read' })
})

t.end()
