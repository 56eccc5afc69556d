/** What moves assets under another name, over HTTP: allowances that few tokens have, hashes in typed data, and tokens that nobody registered. */
import t from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import { publishOver } from '../support/published-policy.ts'
import { withStage } from '../support/service-stage.ts'

const CONTRACT = '0x1111111111111111111111111111111111111111'
const MALLORY = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const ETHER = 'eip155:1000001/slip44:60'
const HOUR = 3_600

const { service, rpc } = await withStage(t)
const [wallet] = await service.makeWallets(1)
const { api } = service
const { send: post } = api
const of = (what: string) => `/v1/wallets/${wallet?.id}/${what}`

const refused = (rule: string, reason: string) => ({
  status: 403,
  body: { errors: [{ code: 'policy_denied', details: { rule, reason } }] },
})
const word = (hex: string) => hex.replace('0x', '').padStart(64, '0')
const call = (data: string) => post(of('contract-call'), { contract_address: CONTRACT, data })

t.test('a policy about other things opens nothing: permits are signed where a rule names them', async (t) => {
  const permit = {
    domain: { name: 'Token', verifyingContract: CONTRACT },
    types: { Permit: [{ name: 'spender', type: 'address' }] },
    message: { spender: MALLORY },
  }
  const sign = () => post(of('sign/typed-data'), permit)
  await publishOver(api, [{ id: 'many', effect: 'limit', limit: { count: 1_000, window_seconds: HOUR } }])
  matchExactly(t, await sign(), { status: 422, body: { errors: [{ code: 'typed_data_spends' }] } })
  await publishOver(api, [
    { id: 'night', effect: 'deny', match: { actions: ['sign_typed_data'], networks: ['polygon'] } },
  ])
  t.match(await sign(), { status: 202 })
})

t.test('an allowance is one, whatever the token calls it', async (t) => {
  await rpc('anvil_setCode', CONTRACT, '0x00')
  await publishOver(api, [{ id: 'bounded', effect: 'deny', match: { actions: ['approve'], unlimited: true } }])
  matchExactly(t, await call(`0xdaea85c5${word(MALLORY)}`), refused('bounded', 'denied'), 'approve(address) of MKR')
  matchExactly(
    t,
    await call(`0x110496e5${word(MALLORY)}${word('0x1')}`),
    refused('bounded', 'denied'),
    'allow of Comet',
  )
  const preSigned = `0xec6cb13f${word('0x40')}${word('0x1')}${word('0x0')}`
  matchExactly(
    t,
    await call(preSigned),
    refused('bounded', 'denied'),
    'an order of CoW that needs no signature any more',
  )
  t.match(await call('0x12345678'), { status: 202 })
})

t.test('a hash in typed data is the consent to whatever has it', async (t) => {
  await publishOver(api, [{ id: 'inside', effect: 'deny', match: { recipients: { not_in: ['own_wallets'] } } }])
  const sign = (type: string) =>
    post(of('sign/typed-data'), {
      domain: { name: 'Exchange', version: '1' },
      types: { Root: [{ name: 'root', type }] },
      message: { root: type === 'string' ? 'text' : `0x${'a5'.repeat(32)}` },
    })
  matchExactly(t, await sign('bytes32'), refused('inside', 'denied'))
  t.match(await sign('string'), { status: 202 })
})

t.test('a limit of amounts refuses a call that takes a token that nobody registered', async (t) => {
  await publishOver(api, [
    { id: 'day', effect: 'limit', limit: { asset_id: ETHER, amount: '50', window_seconds: HOUR } },
  ])
  // balanceOf returns the word 0; any other function sets it to 0, and its value in the beginning is 5.
  await rpc('anvil_setCode', CONTRACT, '0x60003560e01c6370a0823114601557600060005500' + '5b60005460005260206000f3')
  await rpc('anvil_setStorageAt', CONTRACT, `0x${word('0x0')}`, `0x${word('0x5')}`)
  matchExactly(
    t,
    await call(`0xb753a98c${word(MALLORY)}${word('0x5')}`),
    refused('day', 'uncounted'),
    'push of DSToken',
  )
  await rpc('anvil_setStorageAt', CONTRACT, `0x${word('0x0')}`, `0x${word('0x0')}`)
  t.match(await call('0x12345678'), { status: 202 }, 'a call that takes nothing')
})

t.end()
