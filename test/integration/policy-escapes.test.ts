/** What tries to escape a policy over HTTP: hashes that are signed as text, calls that fail in their rehearsal, and sizes. */
import t from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'

const ETHER = 'eip155:1000001/slip44:60'
const CONTRACT = '0x1111111111111111111111111111111111111111'
const HOUR = 3_600

const { service, rpc } = await withStage(t)
const [wallet] = await service.makeWallets(1)
const { api } = service
const { send: post } = api
const of = (what: string) => `/v1/wallets/${wallet?.id}/${what}`
const draftOf = async (policy: object) => {
  const { draft } = (await api.insist({ path: '/v1/policies' })).body.data
  return api.insist({ method: 'PUT', path: '/v1/policies', body: { revision: draft?.revision ?? 0, policy } })
}

const refused = (rule: string, reason: string) => ({
  status: 403,
  body: { errors: [{ code: 'policy_denied', details: { rule, reason } }] },
})

t.test('a signed hash is the consent to whatever has this hash', async (t) => {
  await publishOver(api, [{ id: 'inside', effect: 'deny', match: { recipients: { not_in: ['own_wallets'] } } }])
  const sign = (message: string) => post(of('sign/message'), { message, encoding: 'hex' })
  matchExactly(t, await sign(`0x${'a5'.repeat(32)}`), refused('inside', 'denied'))
  matchExactly(
    t,
    await post(of('sign/message'), { message: 'x'.repeat(32) }),
    refused('inside', 'denied'),
    'text can be one',
  )
  t.match(await sign(`0x${'a5'.repeat(33)}`), { status: 202 })
  t.match(await post(of('sign/message'), { message: 'Sign in to example.org' }), { status: 202 })
})

t.test('a limit of amounts refuses a call that fails now, and may take more later', async (t) => {
  await publishOver(api, [
    { id: 'hour', effect: 'limit', limit: { asset_id: ETHER, amount: '50', window_seconds: HOUR } },
  ])
  const call = { contract_address: CONTRACT, data: `0x12345678${'00'.repeat(32)}`, gas_limit: 100_000 }
  await rpc('anvil_setCode', CONTRACT, '0xfd')
  matchExactly(t, await post(of('contract-call'), call), refused('hour', 'uncounted'))
  await rpc('anvil_setCode', CONTRACT, '0x00')
  t.match(await post(of('contract-call'), call), { status: 202 })
  t.match(await post(of('transfer'), { to: RECIPIENT, amount: '0.01', asset: 'ETH' }), { status: 202 })
})

t.test('a policy that compares the same large list in each condition is refused', async (t) => {
  const big = Array.from({ length: 9_500 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`)
  const rules = Array.from({ length: 100 }, (_, n) => ({
    ...{ id: `r${n}`, effect: 'limit', limit: { count: 10 + n, window_seconds: HOUR + 60 * n } },
    match: { recipients: { not_in: ['big'] }, contracts: { in: ['big'] } },
  }))
  matchExactly(t, await draftOf({ default: 'allow', lists: { big }, rules }), {
    status: 422,
    body: { errors: [{ field: 'rules', code: 'too_many' }] },
  })
  t.match(await draftOf({ default: 'allow', lists: { big }, rules: rules.slice(0, 5) }), { status: 200 })
})

t.end()
