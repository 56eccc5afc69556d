/** Policies are tested over HTTP on what was requested and on one request: as a real request is judged, and recorded nowhere. */
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'

const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const stage = await withStage(t)
const { service, send } = stage
const [wallet, own] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
const NATIVE = 'eip155:1000001/slip44:60'

async function ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: object) {
  const { status, body: answer } = await service.api.insist({ method, path, body })
  return { status, data: answer.data, codes: answer.errors?.map(({ code }) => code) ?? [] }
}

const policy = {
  default: 'allow',
  rules: [
    { id: 'cap', effect: 'limit', limit: { asset_id: NATIVE, amount: '0.05', window_seconds: 3_600, per: 'wallet' } },
    { id: 'not-other', effect: 'deny', match: { recipients: { in: [OTHER] } } },
    { id: 'to-us', effect: 'deny', match: { actions: ['contract_call'], recipients: { not_in: ['own_wallets'] } } },
  ],
}
const ago = () => new Date(Date.now() - 3_600_000).toISOString()
const simulate = (request: object, more: object = { policy }) =>
  ask('POST', '/v1/policies/simulate', { ...more, wallet_id: wallet.id, ...request })
const transfer = (amount: string, to = RECIPIENT) => ({ transfer: { to, amount, asset: 'ETH' } })

t.test('the past is judged by rule, in all, and with its largest cases', async (t) => {
  for (const amount of ['0.01', '0.02', '0.03', '0.001']) await send(wallet, amount)
  await send(wallet, '0.004', OTHER)
  const { status, data } = await ask('POST', '/v1/policies/backtest', { policy, from: ago() })
  t.equal(status, 200)
  t.match(data, {
    truncated: false,
    totals: { allowed: { requests: 3 }, denied: { requests: 1 }, limited: { requests: 1 } },
  })
  matchExactly(
    t,
    data.rules.map(({ rule, matched }: { rule: string; matched: number }) => [rule, matched]),
    [
      ['cap', 5],
      ['not-other', 1],
    ],
  )
  t.equal(data.largest.length, 2)
  const later = await ask('POST', '/v1/policies/backtest', { policy, from: new Date(Date.now() - 1).toISOString() })
  t.match(later.data, { tested_to: null, totals: { allowed: { requests: 0 } } })
})

t.test('a request is simulated as its own route prepares it, and leaves no trace', async (t) => {
  const before = await service.pool.query(`SELECT count(*) AS n FROM events WHERE type LIKE '%Requested'`)
  const small = await simulate(transfer('0.01'))
  t.equal(small.status, 200)
  matchExactly(t, small.data, { version: null, outcome: 'allowed', parts: [{ refusal: null }] })
  matchExactly(t, small.data.parts[0].reservations, [{ rule: 'cap', unit: 'ETH', per: 'wallet', counted: false }])
  matchExactly(
    t,
    small.data.parts[0].rules.map(({ matched }: { matched: boolean }) => matched),
    [true, false, false],
  )
  const denied = await simulate(transfer('0.01', OTHER))
  matchExactly(t, denied.data, {
    outcome: 'denied',
    parts: [{ refusal: { code: 'policy_denied', rules: ['not-other'] } }],
  })
  matchExactly(t, (await simulate(transfer('0.06'))).data, {
    outcome: 'limited',
    parts: [{ refusal: { code: 'policy_limit' } }],
  })
  const items = ['0.03', '0.03'].map((amount) => ({ to: RECIPIENT, amount, asset: 'ETH' }))
  const batch = await simulate({ transfers: { items } })
  matchExactly(
    t,
    batch.data.parts.map(({ outcome }: { outcome: string }) => outcome),
    ['allowed', 'limited'],
  )
  const call = (to: string) => ({ contract_call: { contract_address: to, data: '0x', value: '0.001' } })
  matchExactly(t, (await simulate(call(own.address))).codes, ['use_transfer'])
  matchExactly(t, (await simulate({ sign_message: { message: 'hello' } })).data, {
    outcome: 'allowed',
    parts: [{ intents: [{ actions: ['sign_message'] }] }],
  })
  const after = await service.pool.query(`SELECT count(*) AS n FROM events WHERE type LIKE '%Requested'`)
  t.strictSame(after.rows, before.rows)
})

t.test('what is not one policy and one request is refused', async (t) => {
  t.strictSame((await simulate(transfer('0.01'), {})).codes, ['required'])
  t.strictSame((await simulate({})).codes, ['required'])
  t.strictSame((await simulate({ ...transfer('1'), sign_message: { message: 'x' } })).codes, ['required'])
  t.strictSame((await simulate(transfer('0.01'), { revision: 9 })).codes, ['policy_changed'])
  t.strictSame((await simulate(transfer('0.01'), { version: 9 })).codes, ['policy_version_not_found'])
  const wide = { policy, from: '2026-01-01T00:00:00Z', to: '2026-03-01T00:00:00Z' }
  t.strictSame((await ask('POST', '/v1/policies/backtest', wide)).codes, ['out_of_range'])
})

t.test('a shadow is seeded, and then simulations and requests agree', async (t) => {
  const { rules } = policy
  const limit = { ...rules[0]?.limit, amount: '0.08' }
  const drafted = { revision: 0, policy: { ...policy, rules: [{ ...rules[0], limit }, ...rules.slice(1)] } }
  t.equal((await ask('PUT', '/v1/policies', drafted)).status, 200)
  t.equal((await ask('POST', '/v1/policies/shadow', { revision: 1 })).status, 200)
  await eventually(async () => ((await ask('GET', '/v1/policies')).data.shadow?.seeded ? true : null))
  t.equal((await ask('POST', '/v1/policies/publish', { version: 1 })).status, 200)
  for (const [amount, to] of [
    ['0.01', RECIPIENT],
    ['0.01', OTHER],
    ['0.02', RECIPIENT],
    ['0.004', own.address],
  ] as const) {
    const simulated = await simulate(transfer(amount, to), { version: 1 })
    const { status, codes } = await ask('POST', `/v1/wallets/${wallet.id}/transfer`, transfer(amount, to).transfer)
    const refusal = simulated.data.parts[0].refusal
    t.equal(status, refusal === null ? 202 : 403, `${amount} to ${to}: ${simulated.data.outcome}`)
    t.strictSame(codes, refusal === null ? [] : [refusal.code])
  }
  const { data } = await ask('POST', '/v1/policies/backtest', { version: 1, from: ago() })
  t.match(
    data.totals,
    { denied: { requests: 1 }, limited: { requests: 0 } },
    'what it accepted fits; before, one did not',
  )
})

t.end()
