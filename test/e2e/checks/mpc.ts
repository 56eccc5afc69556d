/**
 * An mpc wallet created by the contract's own request: three parties, one of which is killed while the wallet is used.
 */
import { verifyMessage } from 'ethers'
import type { Test } from 'tap'
import type { Client } from '../../support/client.ts'
import {
  AS_LONG_AS_MAY_BE,
  newAddress,
  type Sandbox,
  sendTransfer,
  type Transaction,
  type Wallet,
} from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const MESSAGE = 'any two of the three'

export async function checkMpc(t: Test, sandbox: Sandbox): Promise<void> {
  const parties = sandbox.state.processes.map(({ name }) => name).filter((name) => name.startsWith('mpc-party-'))
  t.strictSame(parties.sort(), ['mpc-party-1', 'mpc-party-2', 'mpc-party-3'])
  const client = await sandbox.tenant('mpc')
  const request = { type: 'mpc', network: 'ethereum', label: 'My Wallet', environment: 'mainnet' }
  const created = await client.post('/v1/wallets/create', request, AS_LONG_AS_MAY_BE)
  t.equal(created.status, 201, created.text)
  t.match(created.body.data, {
    type: 'mpc',
    network: 'ethereum',
    label: 'My Wallet',
    mpc: { threshold: 2, parties: 3 },
  })
  const { wallet_id: walletId, address } = created.body.data as { wallet_id: string; address: string }
  const path = `/v1/wallets/${walletId}`
  const wallet = { walletId, address, path }
  await client.post('/v1/sandbox/faucet', { address, network: 'ethereum', asset: 'ETH', amount: '2' })
  await client.until(`${path}/balance`, ({ balance }) => balance === '2')

  sandbox.service.kill('mpc-party-2')
  const sent = await sendTransfer(client, wallet, { to: newAddress(), amount: '0.25', asset: 'ETH' })
  const signed = await client.post(`${path}/sign/message`, { message: MESSAGE }, AS_LONG_AS_MAY_BE)
  t.equal(signed.status, 201, signed.text)
  t.equal(verifyMessage(MESSAGE, signed.body.data.signature), address)
  const transfer = await client.settle(sent)
  t.equal(transfer.status, 'confirmed', 'two of three parties sign')
  const swap = { from_asset: 'ETH', to_asset: 'USDC', amount: '0.1' }
  const swapped = await client.post(`${path}/swap`, swap, AS_LONG_AS_MAY_BE)
  const executed = await client.settle(swapped)
  t.match(executed, { status: 'confirmed', type: 'SWAP' }, 'two of three parties sign the call data of a swap')

  await callContract(t, sandbox, client, wallet)
  await sendBatch(t, client, wallet)

  const before = (await client.get(`${path}/shares`)).body.data
  matchExactly(t, before, { threshold: 2, parties: 3, epoch: 0, banned: [] })
  const refresh = await client.post(`${path}/shares/refresh`, {}, AS_LONG_AS_MAY_BE)
  t.match(refresh.status, /20[02]/, refresh.text)
  await client.until(`${path}/shares`, ({ epoch }) => epoch === 1)
  const again = await client.post(`${path}/sign/message`, { message: MESSAGE }, AS_LONG_AS_MAY_BE)
  t.equal(verifyMessage(MESSAGE, again.body.data.signature), address, 'the address is the same after the refresh')
}

/** The parties that sign read the call data in the log. */
async function callContract(t: Test, sandbox: Sandbox, client: Client, { path, address }: Wallet): Promise<void> {
  const contract_address = await sandbox.token(client, 'ethereum', 'USDC')
  const spender = newAddress()
  const approve = { contract_address, function_signature: 'approve(address,uint256)', args: [spender, '1000000'] }
  const called = await client.post(`${path}/contract-call`, approve, AS_LONG_AS_MAY_BE)
  t.equal(called.status, 202, called.text)
  t.equal((await client.settle(called)).status, 'confirmed', 'two of three parties sign a contract call')
  const allowance = {
    contract_address,
    mode: 'read',
    function_signature: 'allowance(address,address) view returns (uint256)',
    args: [address, spender],
  }
  const read = await client.post(`${path}/contract-call`, allowance)
  matchExactly(t, read.body.data, { success: true, return_values: [{ value: '1000000' }] })
}

async function sendBatch(t: Test, client: Client, { path }: Wallet): Promise<void> {
  const items = ['0.01', '0.02', '0.03'].map((amount) => ({ to: newAddress(), amount, asset: 'ETH' }))
  const sent = await client.post(`${path}/transfers`, { items }, AS_LONG_AS_MAY_BE)
  t.equal(sent.status, 202, sent.text)
  const ids = sent.body.data.transactions.map(({ transaction_id: id }: Pick<Transaction, 'transaction_id'>) => id)
  const ended = ids.map((id: string) => client.settle(`${path}/transactions/${id}`))
  const each = items.map(({ to, amount }) => ({ status: 'confirmed', to, amount }))
  matchExactly(t, await Promise.all(ended), each, 'two of three parties sign each transfer of a batch')
}
