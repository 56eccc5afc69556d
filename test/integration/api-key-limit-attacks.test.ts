/** Whoever has a key with limits, and wants to spend more than they say; and what its owner is told. */
import { readFileSync } from 'node:fs'
import { AbiCoder } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { accepted, type Client, createClient } from '../support/client.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withNftStage } from '../support/nft-stage.ts'
import { RECIPIENT } from '../support/service-stage.ts'

const ETHER = 'eip155:1000001/slip44:60'
const HOUR = 3_600
const DAY = 86_400
const SPENDS = ['wallets:read', 'transactions:read', 'transactions:write']
const MANAGES = [...SPENDS, 'api_keys:read', 'api_keys:write']
const BEYOND = { status: 403, body: { errors: [{ code: 'beyond_own_key' }] } }
const OF_ETHER = { asset_id: ETHER, amount: '5', window_seconds: DAY }
/** Wraps what any call sends, and returns nothing. */
const WRAPPED = JSON.parse(
  readFileSync(new URL('../../src/contracts/artifacts/WrappedNative.json', import.meta.url), 'utf8'),
) as { readonly bytecode: string }

const stage = await withNftStage(t)
const { service, rpc, mine, settle } = stage
const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
const { baseUrl } = service

const askKey = (limits: readonly object[], { by = service.api, scopes = SPENDS } = {}) =>
  by.insist({ method: 'POST', path: '/v1/api-keys', body: { label: 'shop', scopes, limits } })

async function makeKey(limits: readonly object[], options?: Parameters<typeof askKey>[1]) {
  const { key_id: id, api_key } = accepted(await askKey(limits, options))
  return { id, client: createClient(baseUrl, api_key) }
}

const pay = (client: Client, amount: string) =>
  client.send(`/v1/wallets/${wallet.id}/transfer`, { to: RECIPIENT, amount, asset: 'ETH' })

const call = (client: Client, contract: string, signature: string, args: readonly unknown[], more: object = {}) =>
  client.send(`/v1/wallets/${wallet.id}/contract-call`, {
    contract_address: contract,
    function_signature: signature,
    args,
    ...more,
  })

async function sent(transaction: object): Promise<{ readonly contractAddress: string }> {
  const hash = await rpc('eth_sendTransaction', { from: RICH, gas: '0x7a1200', ...transaction })
  await mine()
  return (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
}

/** A token of which the wallet has ten, and which its tenant has not registered. */
async function deployToken(): Promise<string> {
  const args = AbiCoder.defaultAbiCoder().encode(['string', 'string'], ['Unknown', 'UNK'])
  const { contractAddress: to } = await sent({ data: WRAPPED.bytecode + args.slice(2) })
  await sent({ to, value: '0xa' })
  const give = AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [wallet.address, 10n])
  await sent({ to, data: `0xa9059cbb${give.slice(2)}` })
  return toChecksumAddress(to)
}

const uncounted = (why: RegExp) => ({
  status: 403,
  body: { errors: [{ code: 'key_limit', message: why }] },
})

t.test('a key whose amounts are limited opens no other asset, for itself or for a key that it makes', async (t) => {
  const body = { network: 'ethereum', environment: 'mainnet', contract_address: await deployToken() }
  const registered = await service.api.insist({ method: 'POST', path: '/v1/assets', body })
  t.match(registered, { status: 201 })
  const ofToken = { asset_id: registered.body.data.asset_id, amount: '1000000', window_seconds: DAY }
  const ofDollars = { amount_usd: '1000000', window_seconds: DAY }
  const { id, client } = await makeKey([OF_ETHER], { scopes: MANAGES })
  const change = (by: Client, limits: readonly object[]) =>
    by.insist({ method: 'PATCH', path: `/v1/api-keys/${id}`, body: { limits } })
  for (const other of [ofToken, ofDollars]) {
    matchExactly(t, await askKey([other], { by: client }), BEYOND)
    matchExactly(t, await change(client, [OF_ETHER, other]), BEYOND)
  }
  const narrower = [
    { ...OF_ETHER, window_seconds: HOUR },
    { transactions: 5, window_seconds: DAY },
  ]
  for (const fits of narrower) t.match(await askKey([fits], { by: client }), { status: 201 })
  t.match(await change(client, [OF_ETHER, ...narrower]), { status: 200 })
  t.match(
    await change(service.api, [OF_ETHER, ...narrower, ofDollars]),
    { status: 200 },
    'a key that could create it does',
  )
  t.match(await askKey([ofToken], { by: client }), { status: 201 }, 'dollars are about every asset')
})

t.test('a refusal names the limit that has room last', async (t) => {
  const { client } = await makeKey([
    { transactions: 1, window_seconds: HOUR },
    { transactions: 1, window_seconds: DAY },
    { ...OF_ETHER, window_seconds: HOUR },
  ])
  t.equal((await pay(client, '0.01')).status, 202)
  matchExactly(t, await pay(client, '0.01'), {
    status: 403,
    body: { errors: [{ code: 'key_limit', details: { window_seconds: DAY, left: '0' } }] },
  })
  matchExactly(
    t,
    await pay(client, '6'),
    { status: 403, body: { errors: [{ details: { unit: 'ETH', available_at: null } }] } },
    'what never fits is said first',
  )
})

t.test('a price that is not current counts nothing', async (t) => {
  const { client } = await makeKey([{ amount_usd: '1000', window_seconds: DAY }])
  const price = (age: string) =>
    service.pool.query(
      `INSERT INTO prices (chain_id, symbol, usd, updated_at) VALUES (1000001, 'ETH', 2000, now() - $1::interval)
         ON CONFLICT (chain_id, symbol) DO UPDATE SET updated_at = excluded.updated_at`,
      [age],
    )
  t.teardown(() => service.pool.query('DELETE FROM prices'))
  await price('26 hours')
  matchExactly(t, await pay(client, '0.1'), uncounted(/price of ETH is not known/))
  await price('1 hour')
  t.match(await pay(client, '0.1'), { status: 202 })
  matchExactly(t, await pay(client, '0.5'), { status: 403, body: { errors: [{ details: { unit: 'USD' } }] } })
})

t.test('a key whose amounts are limited moves no token that they do not name by a call of its contract', async (t) => {
  const { client } = await makeKey([OF_ETHER])
  const token = await deployToken()
  const collection = await stage.collection(wallet)
  await stage.mint(collection, wallet.address)
  await settle()
  const give = [RECIPIENT, '10']
  const moves = [
    [token, 'transfer(address,uint256)', give],
    [token, 'withdraw(uint256)', ['10']],
    [collection.contract, 'transferFrom(address,address,uint256)', [wallet.address, RECIPIENT, '1']],
    [token, 'safeTransferFrom(address,address,uint256,uint256,bytes)', [wallet.address, RECIPIENT, '1', '1', '0x']],
  ] as const
  for (const [contract, signature, args] of moves)
    matchExactly(t, await call(client, contract, signature, args), uncounted(/takes what the wallet has/), signature)
  t.match(await call(client, token, 'deposit()', [], { value: '0.1' }), { status: 202 }, 'ether is what they name')
  t.match(
    await call(service.api, token, 'transfer(address,uint256)', give),
    { status: 202 },
    'another key has no limits',
  )
})

t.test('nor does it call what fails when it is asked for, and may take more later', async (t) => {
  const { client } = await makeKey([OF_ETHER])
  const later = [RECIPIENT, '11'] as const
  const gas = { gas_limit: 200_000 }
  const token = await deployToken()
  matchExactly(
    t,
    await call(client, token, 'transfer(address,uint256)', later, gas),
    uncounted(/fails in its rehearsal/),
  )
  t.match(await call(service.api, token, 'transfer(address,uint256)', later, gas), { status: 202 })
  await settle()
})

t.test('a simulation of a call is refused as the call would be', async (t) => {
  const contract = await deployToken()
  const { client } = await makeKey([{ ...OF_ETHER, amount: '1' }])
  const simulate = (by: Client, value: string, mode = 'simulate') => {
    const body = { contract_address: contract, function_signature: 'deposit()', args: [], value, mode }
    return by.insist({ method: 'POST', path: `/v1/wallets/${wallet.id}/contract-call`, body })
  }
  t.match(await simulate(client, '0.5'), { status: 200, body: { data: { success: true } } })
  const refused = await simulate(client, '1.5')
  matchExactly(t, refused, { status: 403, body: { errors: [{ code: 'key_limit', details: { left: '1' } }] } })
  matchExactly(t, refused.body.errors, (await call(client, contract, 'deposit()', [], { value: '1.5' })).body.errors)
  const give = { contract_address: contract, function_signature: 'transfer(address,uint256)', args: [RECIPIENT, '3'] }
  const path = `/v1/wallets/${wallet.id}/contract-call`
  matchExactly(
    t,
    await client.insist({ method: 'POST', path, body: { ...give, mode: 'simulate' } }),
    uncounted(/takes what the wallet has/),
  )
  t.match(await simulate(client, '0', 'read'), { status: 200 }, 'reading spends nothing')
  t.match(await simulate(service.api, '1.5'), { status: 200 })
})

t.test('a mint takes nothing but its fee, and a voucher nothing', async (t) => {
  const [issuer] = (await service.makeWallets(1)) as [LoadWallet]
  const collection = await stage.collection(issuer)
  const { id, client } = await makeKey([OF_ETHER], { scopes: [...SPENDS, 'nft:read', 'nft:write'] })
  const metadata = { name: 'One', image: 'https://example.com/1.png' }
  const mint = (more: object) =>
    client.send('/v1/nft/mint', { collection_id: collection.id, recipient: RECIPIENT, metadata, ...more })
  const left = async () => Number((await service.api.insist({ path: `/v1/api-keys/${id}` })).body.data.limits[0].left)
  t.match(await mint({ minting_type: 'LAZY' }), { status: 202 })
  t.equal(await left(), 5)
  t.match(await mint({}), { status: 202 })
  const after = await left()
  t.ok(after < 5 && after > 4.9, `its fee: ${5 - after} ETH`)
})

t.end()
