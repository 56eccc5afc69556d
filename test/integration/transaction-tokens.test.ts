/**
 * Transfers of unusual tokens through the whole service: a confirmed transfer happened, and a failed one holds nothing.
 */
import { AbiCoder } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { toQuantity, uintWord } from '../../src/chain/hex.ts'
import { accepted } from '../support/client.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const ODD = contractIn(compileSolidity('OddToken.sol'), 'OddToken')
const WAYS = { honest: 0, refuses: 1, returnsNothing: 2, charges: 3, silent: 4, shouts: 5, rebases: 6 } as const
const HIGHEST = 2n ** 256n - 1n

const stage = await withStage(t)
const { service, rpc, mine, until, settle } = stage

async function minedCall(to: string | null, data: string): Promise<string> {
  const hash = await rpc('eth_sendTransaction', { from: RICH, data, ...(to === null ? {} : { to }) })
  await mine()
  const receipt = (await eventually(() => rpc('eth_getTransactionReceipt', hash))) as { contractAddress: string | null }
  return receipt.contractAddress ?? ''
}

/** A GET can read a new balance from the chain before it is recorded; a transfer needs the record. */
async function recorded({ id }: LoadWallet, baseUnits: bigint): Promise<void> {
  const values = [id, baseUnits.toString()]
  await eventually(
    async () =>
      (await service.pool.query('SELECT FROM balances WHERE wallet_id = $1 AND balance = $2', values)).rowCount || null,
  )
}

/** A token of the tenant, which is honest until it is switched. */
async function withToken(decimals = 18) {
  const args = AbiCoder.defaultAbiCoder().encode(['uint8'], [decimals]).slice(2)
  const contract = toChecksumAddress(await minedCall(null, ODD.bytecode + args))
  const body = { network: 'ethereum', environment: 'mainnet', contract_address: contract }
  accepted(await service.api.insist({ method: 'POST', path: '/v1/assets', body }))
  const held = async (wallet: LoadWallet) => {
    const { body } = await service.api.insist({ path: `/v1/wallets/${wallet.id}/balance?asset=${contract}` })
    return body.data as { balance: string; available: string; pending_out: string }
  }
  return {
    contract,
    held,
    turn: (way: keyof typeof WAYS) =>
      rpc('anvil_setStorageAt', contract, toQuantity(0), `0x${uintWord(BigInt(WAYS[way]))}`),
    call: (name: string, ...values: unknown[]) => minedCall(contract, ODD.abi.encodeFunctionData(name, values)),
    /** A wallet that holds this amount, as observed by the service. */
    async holder(amount: bigint, shown: string) {
      const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
      await minedCall(contract, ODD.abi.encodeFunctionData('mint', [wallet.address, amount]))
      await recorded(wallet, amount)
      await eventually(async () => (await held(wallet)).balance === shown || null)
      return wallet
    },
    async send(wallet: LoadWallet, amount: string) {
      const body = { to: RECIPIENT, amount, asset: contract }
      const reply = await service.api.send(`/v1/wallets/${wallet.id}/transfer`, body)
      return accepted(reply).transaction_id as string
    },
    async preview(wallet: LoadWallet, amount: string) {
      const body = { to: RECIPIENT, amount, asset: contract }
      const path = `/v1/wallets/${wallet.id}/transfer/preview`
      return (await service.api.insist({ method: 'POST', path, body })).body.data
    },
  }
}

t.test('a token that returns false is refused before anything is signed, and reserves nothing', async (t) => {
  const token = await withToken()
  const wallet = await token.holder(10n ** 19n, '10')
  await token.turn('refuses')
  t.match(await token.preview(wallet, '3'), { would_succeed: false, reason: /transfer\(\) returns false/ })
  const refused = await until(wallet, await token.send(wallet, '3'), 'failed')
  t.match(refused, { hash: null, nonce: null, failure: { code: 'token_transfer_refused' } })
  t.match(await token.held(wallet), { balance: '10', available: '10', pending_out: '0' })
  await token.turn('honest')
  t.match(await token.preview(wallet, '3'), { would_succeed: true, reason: null })
  const taken = await token.send(wallet, '3')
  t.match(await until(wallet, taken, 'submitted'), { nonce: 0, amount_moved: null })
  await settle()
  t.match(await stage.read(wallet, taken), { state: 'confirmed', amount: '3', amount_moved: '3' })
  t.match(await token.held(wallet), { balance: '7', available: '7', pending_out: '0' })
})

t.test('a transfer that moved nothing in its block is not confirmed', async (t) => {
  for (const way of ['refuses', 'silent'] as const) {
    const token = await withToken()
    const wallet = await token.holder(10n ** 19n, '10')
    const id = await token.send(wallet, '3')
    await until(wallet, id, 'submitted')
    await token.turn(way)
    await settle()
    const moved = way === 'silent' ? '7' : '10'
    t.match(
      await stage.read(wallet, id),
      { state: 'reverted', status: 'failed', amount_moved: null, failure: { code: 'token_not_moved' } },
      way,
    )
    // Changes without a log are found by the reconciliation.
    if (way === 'refuses')
      t.match(await token.held(wallet), { balance: moved, available: moved, pending_out: '0' }, way)
  }
})

t.test('a token that moves another amount is reported, and its transfer does not fail', async (t) => {
  const cases = [
    { way: 'returnsNothing', moved: '3', left: '7' },
    { way: 'charges', moved: '2.7', left: '7' },
    { way: 'rebases', moved: '3', left: '14' },
    { way: 'shouts', moved: null, left: '7' },
  ] as const
  for (const { way, moved, left } of cases) {
    const token = await withToken()
    const wallet = await token.holder(10n ** 19n, '10')
    await token.turn(way)
    const id = await token.send(wallet, '3')
    await until(wallet, id, 'submitted')
    await settle()
    const view = (await stage.read(wallet, id)) as unknown as { state: string; amount: string; amount_moved: string }
    t.match(view, { state: 'confirmed', amount: '3' }, way)
    if (moved === null) t.equal(BigInt(view.amount_moved.replace('.', '')), HIGHEST, 'the amount is cut to the maximum')
    else t.equal(view.amount_moved, moved, way)
    t.match(await token.held(wallet), { balance: left, available: left, pending_out: '0' }, way)
  }
})

t.test('tokens of 0 and 77 decimals, and false Transfer logs, give the balances of the contract', async (t) => {
  const whole = await withToken(0)
  const fine = await withToken(77)
  const wallet = await whole.holder(5n, '5')
  await fine.call('mint', wallet.address, 1n)
  const least = `0.${'0'.repeat(76)}1`
  await recorded(wallet, 1n)
  await eventually(async () => (await fine.held(wallet)).balance === least || null)
  await whole.call('announce', wallet.address, HIGHEST)
  await fine.call('announce', wallet.address, HIGHEST)
  const ids = [await whole.send(wallet, '2'), await fine.send(wallet, least)]
  for (const id of ids) await until(wallet, id, 'submitted')
  await settle()
  t.match(await stage.read(wallet, ids[0] ?? ''), { state: 'confirmed', amount_moved: '2' })
  t.match(await stage.read(wallet, ids[1] ?? ''), { state: 'confirmed', amount_moved: least })
  t.match(await whole.held(wallet), { balance: '3', available: '3' })
  t.match(await fine.held(wallet), { balance: '0', available: '0' })
  await mine()
})

t.end()
