/** Contract calls on the chains of the sandbox: read, simulated and sent over HTTP, and the commands of their page. */
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox, type Wallet } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { pastePage } from '../../support/paste-page.ts'

const ABI = [
  'function balanceOf(address owner) view returns (uint256 balance)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]

type Stage = { readonly sandbox: Sandbox; readonly client: Client; readonly wallet: Wallet; readonly token: string }

export async function checkContractCalls(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('calls')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '10', USDC: '5' })
  const stage = { sandbox, client, wallet, token: await sandbox.token(client, 'ethereum', 'USDC') }
  await t.test('a call is read and simulated, and a revert is decoded', (t) => tries(t, stage))
  await t.test('a sent call shows its arguments and its events, and happens once', (t) => sends(t, stage))
  await t.test('the commands of docs/contract-calls.md work when pasted', (t) => page(t, stage))
}

async function tries(t: Test, { client, wallet, token }: Stage): Promise<void> {
  const ask = async (body: object) => {
    const answer = await client.post(`${wallet.path}/contract-call`, { contract_address: token, abi: ABI, ...body })
    t.equal(answer.status, 200, answer.text)
    return answer.body.data
  }
  matchExactly(t, await ask({ mode: 'read', function: 'balanceOf', args: [wallet.address] }), {
    success: true,
    return_values: [{ name: 'balance', type: 'uint256', value: '5000000' }],
  })
  const to = newAddress()
  matchExactly(t, await ask({ mode: 'simulate', function: 'transfer', args: [to, '1000000'] }), {
    success: true,
    return_values: [{ value: true }],
    gas_estimate: /^\d{5,6}$/,
    balance_changes: [{ asset: 'USDC', change: '-1' }],
  })
  matchExactly(t, await ask({ mode: 'simulate', function: 'transfer', args: [to, '5000001'] }), {
    success: false,
    return_values: null,
    revert: {
      name: 'ERC20InsufficientBalance',
      args: [
        { name: 'sender', value: wallet.address },
        { name: 'balance', value: '5000000' },
        { name: 'needed', value: '5000001' },
      ],
    },
  })
}

async function sends(t: Test, { client, wallet, token }: Stage): Promise<void> {
  const path = `${wallet.path}/contract-call`
  const to = newAddress()
  const body = { contract_address: token, abi: ABI, function: 'transfer', args: [to, '1000000'] }
  const headers = { 'idempotency-key': 'call-once', ...AS_LONG_AS_MAY_BE }
  const sent = await client.post(path, body, headers)
  t.equal(sent.status, 202, sent.text)
  const { transaction_id } = sent.body.data
  const again = await client.post(path, body, headers)
  t.strictSame([again.headers['idempotency-replayed'], again.body.data.transaction_id], ['true', transaction_id])
  matchExactly(t, await client.settle(sent), {
    status: 'confirmed',
    type: 'CONTRACT',
    to: token,
    call: { function: 'transfer', args: [{ value: to }, { name: 'amount', value: '1000000' }] },
    events: [
      {
        address: token,
        name: 'Transfer',
        args: [{ value: wallet.address }, { name: 'to', value: to }, { name: 'value', value: '1000000' }],
      },
    ],
  })
  const read = { contract_address: token, abi: ABI, mode: 'read', function: 'balanceOf', args: [to] }
  matchExactly(t, (await client.post(path, read)).body.data.return_values, [{ value: '1000000' }], 'it happened once')
  const refused = await client.post(path, { ...body, args: [to, '5000001'] })
  t.strictSame([refused.status, ...told(refused)], [422, 'contract_address call_reverts'])
}

async function page(t: Test, { sandbox, client }: Stage): Promise<void> {
  const { base_url: url, api_key: key } = sandbox.state
  const wallet = await sandbox.wallet(sandbox.client, 'ethereum', { ETH: '1' })
  const token = await sandbox.token(client, 'ethereum', 'USDC')
  const answers = await pastePage('contract-calls.md', { URL: url, KEY: key, WALLET: wallet.walletId, TOKEN: token })
  t.equal(answers.length, 2, 'each request has an answer')
  for (const { status, data } of answers) t.equal(status, 'success', JSON.stringify(data))
  matchExactly(t, answers[0]?.data, { return_values: [{ value: '6' }] })
  const sent = `${wallet.path}/transactions/${answers[1]?.data.transaction_id}`
  t.equal((await sandbox.client.settle(sent)).status, 'confirmed')
}
