/**
 * Each action of a policy over HTTP: allowed, denied by a rule that names it, and limited by one. A refusal records nothing and uses no
 * Idempotency-Key. Swaps and NFTs have files of their own.
 */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { createIdentity } from '../../src/keys/age.ts'
import { createClient, type Reply } from '../support/client.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'

const CONTRACT = '0x1111111111111111111111111111111111111111'
const HOUR = 3_600
const WORD = '0'.repeat(64)

const { recipient: exportTo } = await createIdentity()
const { service, rpc } = await withStage(t, { env: { EXPORT_RECIPIENTS: exportTo } })
const { api, pool, baseUrl, kernel } = service
// A contract that does nothing, whatever is called.
await rpc('anvil_setCode', CONTRACT, '0x00')
const issue = createIssueApiKey(kernel)
const keyWith = async (...scopes: string[]) => {
  const key = await issue({ tenantId: 'acme', environment: 'mainnet', scopes }, { actor: 'operator' })
  return { id: key.keyId, api: createClient(baseUrl, key.token) }
}
const exporter = await keyWith('recovery:export')

const note = {
  domain: { name: 'Token', version: '1', chainId: 1_000_001, verifyingContract: CONTRACT },
  types: { Note: [{ name: 'text', type: 'string' }] },
  message: { text: 'hello' },
}
const payment = { to: RECIPIENT, amount: '0.01', asset: 'ETH' }

type Case = {
  readonly action: string
  readonly path: string
  readonly body: object
  readonly client?: typeof api
  /** Transactions that it counts for; default is 1. */
  readonly count?: number
}
const CASES: readonly Case[] = [
  { action: 'transfer', path: 'transfer', body: payment },
  { action: 'batch', path: 'transfers', body: { items: [payment, payment] }, count: 2 },
  { action: 'contract_call', path: 'contract-call', body: { contract_address: CONTRACT, data: '0x12345678' } },
  {
    action: 'approve',
    path: 'contract-call',
    body: { contract_address: CONTRACT, data: `0x095ea7b3${WORD.slice(40)}${RECIPIENT.slice(2)}${WORD.slice(1)}5` },
  },
  { action: 'sign_message', path: 'sign/message', body: { message: 'hello' } },
  { action: 'sign_typed_data', path: 'sign/typed-data', body: note },
  { action: 'export', path: 'export', body: { recipient: exportTo }, client: exporter.api },
]
const wallets = await service.makeWallets(CASES.length + 2)
const [free, denied] = wallets as [LoadWallet, LoadWallet]
const limitedOf = (one: Case) => wallets[CASES.indexOf(one) + 2] as LoadWallet

const newKey = () => randomBytes(8).toString('hex')
const send = ({ path, body, client = api }: Case, { id }: LoadWallet, key = newKey()): Promise<Reply> =>
  client.send(`/v1/wallets/${id}/${path}`, body, key)

/** Everything that a request can leave behind. */
async function recorded() {
  const { rows } = await pool.query(
    `SELECT (SELECT count(*) FROM events WHERE stream_version = 1 AND split_part(stream_id, '-', 1) <> 'policydenials') AS openings,
            (SELECT count(*) FROM transactions) AS transactions, (SELECT count(*) FROM signatures) AS signatures,
            (SELECT sum(spent) FROM spend_buckets) AS spent,
            (SELECT sum(held) FROM wallet_holds WHERE wallet_id = $1) AS held`,
    [denied.id],
  )
  return rows
}

const RULES = CASES.flatMap((one) => [
  { id: `no-${one.action}`, effect: 'deny', match: { actions: [one.action], wallets: { in: [denied.id] } } },
  {
    ...{ id: `limit-${one.action}`, effect: 'limit' },
    match: { actions: [one.action], wallets: { in: [limitedOf(one).id] } },
    limit: { count: one.count ?? 1, window_seconds: HOUR },
  },
])
const version = await publishOver(api, RULES)

for (const one of CASES)
  t.test(`${one.action}: allowed, denied by its name, and limited`, async (t) => {
    t.equal((await send(one, free)).status, 202)
    t.equal((await send(one, limitedOf(one))).status, 202, 'the first fits')
    const before = await recorded()
    matchExactly(t, await send(one, denied), {
      status: 403,
      body: {
        errors: [
          {
            type: 'policy_error',
            code: 'policy_denied',
            message: new RegExp(`The rule no-${one.action} of the policy denies this request`),
            details: { rule: `no-${one.action}`, version, reason: 'denied' },
          },
        ],
      },
    })
    const limited = await send(one, limitedOf(one))
    t.match(limited.status, 403)
    const [error] = limited.body.errors as unknown as [{ type: string; code: string; details: Record<string, unknown> }]
    t.match(error, { type: 'policy_error', code: 'policy_limit' })
    const { available_at, needed, ...details } = error.details
    t.strictSame(details, {
      ...{ rule: `limit-${one.action}`, version, limit: String(one.count ?? 1), left: '0' },
      ...{ unit: 'transactions', window_seconds: HOUR },
    })
    t.match(needed, /^[12]$/)
    const waitMs = Date.parse(String(available_at)) - Date.now()
    t.ok(waitMs > 0 && waitMs <= 2 * HOUR * 1_000, `there is room in ${waitMs} ms`)
    t.strictSame(await recorded(), before, 'nothing is recorded, held or counted')
  })

t.test('a change of API keys is allowed or denied by its name, and counts towards no limit', async (t) => {
  const [bound, other] = [await keyWith('api_keys:write', '*'), await keyWith('api_keys:write', '*')]
  const match = { actions: ['api_key_change'] }
  const version = await publishOver(api, [
    { id: 'no-keys', effect: 'deny', match: { ...match, api_keys: { in: [bound.id] } } },
    { id: 'one', effect: 'limit', match, limit: { count: 1, window_seconds: HOUR } },
  ])
  const create = (client: typeof api, key = newKey()) =>
    client.insist({ method: 'POST', path: '/v1/api-keys', key, body: { label: 'x', scopes: ['wallets:read'] } })
  const made = await create(other.api)
  t.equal(made.status, 201)
  t.equal((await create(other.api)).status, 201)
  const before = await recorded()
  const refused = {
    status: 403,
    body: { errors: [{ code: 'policy_denied', details: { rule: 'no-keys', version, reason: 'denied' } }] },
  }
  const madeId = made.body.data.key_id
  matchExactly(t, await create(bound.api), refused)
  const patch = { method: 'PATCH', path: `/v1/api-keys/${madeId}`, body: { label: 'y' } } as const
  matchExactly(t, await bound.api.insist(patch), refused)
  const rotate = { method: 'POST', path: `/v1/api-keys/${madeId}/rotate`, key: newKey(), body: {} } as const
  matchExactly(t, await bound.api.insist(rotate), refused)
  t.strictSame(await recorded(), before, 'nothing is recorded')
  t.equal((await other.api.insist(patch)).status, 200)
  const end = { method: 'DELETE', path: `/v1/api-keys/${madeId}` } as const
  t.ok((await bound.api.insist(end)).status < 300, 'the end of a leaked key is never refused')
})

t.test('a refusal uses no Idempotency-Key: the same request is judged anew, and accepted once', async (t) => {
  const keys = new Map(CASES.map((one) => [one, newKey()]))
  const sendAgain = (one: Case) => send(one, denied, keys.get(one))
  const refusedBy = async (t: Test, rules: readonly object[], rule: (one: Case) => string | null) => {
    const version = await publishOver(api, rules)
    for (const one of CASES) {
      const { status, headers, body } = await sendAgain(one)
      matchExactly(t, { status, body }, { status: 403, body: { errors: [{ details: { rule: rule(one), version } }] } })
      t.notOk(headers['idempotency-replayed'], one.action)
    }
  }
  const before = await recorded()
  await refusedBy(t, RULES, ({ action }) => `no-${action}`)
  const all = { id: 'nothing', effect: 'deny', match: { wallets: { in: [denied.id] } } }
  await refusedBy(t, [all], () => 'nothing')
  t.strictSame(await recorded(), before)
  await publishOver(api, [])
  for (const one of CASES) {
    const first = await sendAgain(one)
    t.equal(first.status, 202, one.action)
    t.notOk(first.headers['idempotency-replayed'])
    const again = await sendAgain(one)
    t.equal(again.headers['idempotency-replayed'], 'true')
  }
  await publishOver(api, [all])
  for (const one of CASES) {
    const { status, headers } = await sendAgain(one)
    matchExactly(t, [status, headers['idempotency-replayed']], [/^20[12]$/, 'true'], 'what was accepted is answered')
  }
})

t.end()
