/** What a policy says to each kind of request over HTTP, before anything is recorded, and what is recorded of refusals. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createClient } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { startVictimApi } from '../support/victims.ts'

const ETHER = 'eip155:1000001/slip44:60'
const MALLORY = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const CONTRACT = '0x1111111111111111111111111111111111111111'
const HOUR = 3_600

const { service, rpc } = await withStage(t)
const [wallet, cold, third, fourth] = await service.makeWallets(4)
const { api, pool } = service
// A contract that does nothing, whatever is called.
await rpc('anvil_setCode', CONTRACT, '0x00')

const once = () => randomBytes(8).toString('hex')
const post = (path: string, body: unknown, { client = api, prefer = 'respond-async', key = once() } = {}) =>
  client.insist({ method: 'POST', path, key, prefer, body })
const of = (what: string, id = wallet?.id) => `/v1/wallets/${id}/${what}`
const pay = (amount: string, to = RECIPIENT, options = {}) =>
  post(of('transfer'), { to, amount, asset: 'ETH' }, options)

const publish = (rules: readonly object[], more = {}) => publishOver(api, rules, more)

/** EIP-2612. */
const permit = (value: string) => ({
  domain: { name: 'Token', version: '1', chainId: 1_000_001, verifyingContract: CONTRACT },
  types: {
    Permit: ['address owner', 'address spender', 'uint256 value', 'uint256 nonce', 'uint256 deadline'].map((field) => {
      const [type, name] = field.split(' ')
      return { name, type }
    }),
  },
  message: { owner: wallet?.address, spender: RECIPIENT, value, nonce: '0', deadline: '9999999999' },
})

const opened = async () =>
  Number(
    (
      await pool.query(
        "SELECT count(*) AS n FROM events WHERE stream_version = 1 AND split_part(stream_id, '-', 1) IN ('transaction', 'signature', 'export', 'apikey')",
      )
    ).rows[0].n,
  )

t.test('each kind of request is judged, and a refusal names the rule and records nothing', async (t) => {
  const version = await publish(
    [
      { id: 'no-mallory', effect: 'deny', match: { actions: ['transfer'], recipients: { in: ['bad'] } } },
      { id: 'no-deposits', effect: 'deny', match: { methods: { in: ['deposit(uint256)'] } } },
      { id: 'no-texts', effect: 'deny', match: { actions: ['sign_message'], wallets: { in: [cold?.id] } } },
      { id: 'bounded', effect: 'deny', match: { actions: ['approve'], unlimited: true } },
      { id: 'no-keys', effect: 'deny', match: { actions: ['api_key_change'], api_keys: { not_in: ['key_1'] } } },
      { id: 'hour', effect: 'limit', limit: { asset_id: ETHER, amount: '1', window_seconds: HOUR, per: 'wallet' } },
    ],
    { lists: { bad: [MALLORY] } },
  )
  const before = await opened()
  const denied = (rule: string) => ({
    status: 403,
    body: { errors: [{ type: 'policy_error', code: 'policy_denied', details: { rule, version, reason: 'denied' } }] },
  })
  matchExactly(t, await pay('0.01', MALLORY), denied('no-mallory'))
  matchExactly(
    t,
    await post(of('transfer/preview'), { to: MALLORY, amount: '0.01', asset: 'ETH' }),
    denied('no-mallory'),
    'a preview',
  )
  const items = [RECIPIENT, MALLORY].map((to) => ({ to, amount: '0.01', asset: 'ETH' }))
  matchExactly(t, await post(of('transfers'), { items }), denied('no-mallory'), 'no part of a batch')
  const deposit = { contract_address: CONTRACT, data: `0xb6b55f25${'00'.repeat(32)}` }
  matchExactly(t, await post(of('contract-call'), deposit), denied('no-deposits'))
  const simulation = { ...deposit, mode: 'simulate' }
  matchExactly(t, await post(of('contract-call'), simulation), denied('no-deposits'), 'a simulation')
  matchExactly(t, await post(of('sign/message', cold?.id), { message: 'hello' }), denied('no-texts'))
  matchExactly(t, await post(of('sign/typed-data'), permit((2n ** 256n - 1n).toString())), denied('bounded'))
  matchExactly(t, await post('/v1/api-keys', { label: 'more', scopes: ['wallets:read'] }), denied('no-keys'))
  matchExactly(t, await pay('2'), {
    status: 403,
    body: {
      errors: [
        {
          code: 'policy_limit',
          details: {
            rule: 'hour',
            version,
            limit: '1',
            left: '1',
            unit: 'ETH',
            window_seconds: HOUR,
            available_at: null,
          },
        },
      ],
    },
  })
  t.equal(await opened(), before, 'nothing is recorded')

  t.match(await post(of('sign/message'), { message: 'hello' }), { status: 202 })
  t.match(await post(of('sign/typed-data'), permit('1000')), { status: 202 }, 'a policy says which permits are signed')
  t.match(await pay('0.6'), { status: 202 })
  t.match(await post(of('contract-call'), { ...deposit, data: '0x12345678' }), { status: 202 })
  const full = {
    status: 403,
    body: {
      errors: [
        { code: 'policy_limit', details: { rule: 'hour', left: /^0\.\d+$/, needed: /^0\.6\d*$/, available_at: /Z$/ } },
      ],
    },
  }
  matchExactly(t, await pay('0.6'), full)
  matchExactly(t, await post(of('transfer/preview'), { to: RECIPIENT, amount: '0.6', asset: 'ETH' }), full)
  matchExactly(
    t,
    await post(of('contract-call'), { contract_address: CONTRACT, data: '0x12345678', value: '0.6', mode: 'simulate' }),
    full,
  )
  t.match(
    await post(of('transfer', cold?.id), { to: RECIPIENT, amount: '0.6', asset: 'ETH' }),
    { status: 202 },
    'each wallet has its own',
  )
  const { rows } = await pool.query(
    `SELECT DISTINCT type, ((data->>'policy')::jsonb->>'version')::integer AS version FROM events
      WHERE stream_version = 1 AND split_part(stream_id, '-', 1) IN ('transaction', 'signature') ORDER BY 1`,
  )
  t.strictSame(
    rows,
    ['ContractCallRequested', 'MessageSignatureRequested', 'TransferRequested', 'TypedDataSignatureRequested'].map(
      (type) => ({ type, version }),
    ),
  )
})

t.test('refusals are counted in one event a minute for each key and rule, and a shadow reports', async (t) => {
  const version = await publish([
    { id: 'never', effect: 'deny', match: { actions: ['transfer'], recipients: { in: [MALLORY] } } },
  ])
  const shadow = await publish(
    [
      { id: 'small', effect: 'deny', match: { amount: { asset_id: ETHER, gte: '0.02' } } },
      { id: 'two', effect: 'limit', match: { actions: ['transfer'] }, limit: { count: 2, window_seconds: 7_200 } },
    ],
    { isShadow: true },
  )
  for (let n = 0; n < 5; n += 1) t.equal((await pay('0.01', MALLORY)).status, 403)
  t.equal((await pay('0.03')).status, 202, 'the shadow refuses nothing')
  for (let n = 0; n < 4; n += 1) t.equal((await pay('0.01')).status, 202)
  const reported = await eventually(async () => {
    const { rows } = await pool.query<{ rule: string; shadow: boolean; reason: string; count: number; minute: string }>(
      `SELECT d.rule, d.shadow, d.reason, d.count, to_char(e.recorded_at, 'YYYY-MM-DD HH24:MI') AS minute
         FROM events e CROSS JOIN LATERAL json_to_record(e.data) AS d(version integer, rule text, shadow boolean, reason text, count integer)
        WHERE e.type = 'PolicyRefused' AND d.version = ANY ($1)`,
      [[version, shadow]],
    )
    return new Set(rows.map(({ rule }) => rule)).size === 3 ? rows : null
  })
  const told = reported.map(
    ({ rule, shadow: isShadow, reason }) => `${rule} ${isShadow ? 'reported' : 'refused'} ${reason}`,
  )
  t.strictSame([...new Set(told)].sort(), ['never refused denied', 'small reported denied', 'two reported over_limit'])
  t.equal(
    new Set(reported.map(({ rule, minute }) => `${rule} ${minute}`)).size,
    reported.length,
    'each rule has one in a minute',
  )
  const never = reported.filter(({ rule }) => rule === 'never').reduce((sum, { count }) => sum + count, 0)
  t.ok(never >= 1 && never <= 5, `${never} of 5 by now: the rest in the next minute`)
  const metrics = await fetch(`${service.baseUrl}/metrics`).then((answer) => answer.text())
  t.match(metrics, /bursar_policy_refusals_total\{[^}]*rule="never"[^}]*effect="refused"[^}]*\} 5/)
})

for (const [moment, payer] of [
  ['before', third],
  ['after', fourth],
] as const)
  t.test(`a process that is killed ${moment} the append takes each repeated request once`, async (t) => {
    const match = { wallets: { in: [payer?.id] } }
    await publish([{ id: 'cap', effect: 'limit', match, limit: { count: 3, window_seconds: HOUR } }])
    const before = await opened()
    const stage = await startVictimApi(t, service)
    await stage.victim.arm({ moment, step: 'append TransferRequested' }).armed
    const victim = createClient(stage.baseUrl, service.apiKey)
    const body = { to: RECIPIENT, amount: '0.001', asset: 'ETH' }
    const requests = Array.from({ length: 5 }, once).map((key) => {
      return { method: 'POST', path: of('transfer', payer?.id), key, prefer: 'respond-async', body } as const
    })
    await Promise.allSettled(requests.map((request) => victim.once(request)))
    t.ok(await stage.victim.ended, 'it was killed there')
    const answers = await Promise.all(requests.map((request) => api.insist(request)))
    t.equal(answers.filter(({ status }) => status === 202).length, 3)
    for (const { status, body: answer } of answers.filter((one) => one.status !== 202))
      matchExactly(t, [status, answer.errors?.[0]?.code], [403, 'policy_limit'])
    t.equal(await opened(), before + 3)
  })

t.end()
