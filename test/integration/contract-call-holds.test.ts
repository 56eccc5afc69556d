/** What a contract call holds while it is open, and what it leaves alone. */
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { formatAmount } from '../../src/core/money.ts'
import { accepted } from '../support/client.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { STRANGER, withNftStage } from '../support/nft-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const CALLEE = contractIn(compileSolidity('Callee.sol'), 'Callee')
const ABI = JSON.parse(CALLEE.abi.formatJson()) as readonly object[]
const FEE_TOKEN = contractIn(compileSolidity('FeeToken.sol'), 'FeeToken')
const TOKEN = 10n ** 18n

const stage = await withNftStage(t)
const { ask, rpc, mine, settle, service } = stage
const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
const callee = await deploy(CALLEE.bytecode)

async function deploy(bytecode: string): Promise<string> {
  const receipt = await minedBy(RICH, { data: bytecode })
  return toChecksumAddress(receipt.contractAddress)
}

async function minedBy(from: string, transaction: object): Promise<{ readonly contractAddress: string }> {
  const hash = await rpc('eth_sendTransaction', { from, gas: '0x7a1200', ...transaction })
  await mine()
  return (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
}

function call(body: object, from = wallet) {
  const described = 'function_signature' in body ? {} : { abi: ABI }
  return service.api.send(`/v1/wallets/${from.id}/contract-call`, { contract_address: callee, ...described, ...body })
}

/** @returns the id of the transaction */
async function called(body: object): Promise<string> {
  return accepted(await call(body)).transaction_id
}

t.test(
  'a token that a call takes is not available until it is mined, and then the balance is that of the chain',
  async (t) => {
    const token = await deploy(FEE_TOKEN.bytecode)
    const registered = { network: 'ethereum', environment: 'mainnet', contract_address: token }
    t.equal((await ask({ method: 'POST', path: '/v1/assets', key: token, body: registered })).status, 201)
    const held = async () =>
      (await ask({ path: `/v1/wallets/${wallet.id}/balance?asset=${token}` })).body.data as Readonly<
        Record<'balance' | 'available' | 'pending_out', string>
      >
    const onChain = async () =>
      BigInt(
        (await rpc(
          'eth_call',
          { to: token, data: FEE_TOKEN.abi.encodeFunctionData('balanceOf', [wallet.address]) },
          'latest',
        )) as string,
      )
    const observed = async (units: bigint) =>
      eventually(async () => {
        const { balance, available } = await held()
        return (balance === formatAmount(units, 18) && available === balance) || undefined
      })
    const given = FEE_TOKEN.abi.encodeFunctionData('transfer', [wallet.address, 100n * TOKEN])
    await minedBy(RICH, { to: token, data: given })
    await observed(100n * TOKEN)
    const approve = { function_signature: 'approve(address,uint256)', args: [callee, (40n * TOKEN).toString()] }
    await called({ ...approve, contract_address: token })
    await settle()
    t.match(await held(), { balance: '100', available: '100', pending_out: '0' }, 'an allowance is not held')

    await called({ function: 'pull', args: [token, (40n * TOKEN).toString()] })
    t.match(await held(), { balance: '100', available: '60', pending_out: '40' }, 'the rehearsal shows what is taken')
    await settle()
    t.equal(await onChain(), 60n * TOKEN)
    await observed(60n * TOKEN)

    const toItself = {
      function_signature: 'transfer(address,uint256)',
      args: [wallet.address, (30n * TOKEN).toString()],
    }
    await called({ ...toItself, contract_address: token })
    t.match(
      await held(),
      { balance: '60', available: '30', pending_out: '30' },
      'the call data states more than the fee',
    )
    const more = { ...toItself, args: [wallet.address, (31n * TOKEN).toString()], contract_address: token }
    matchExactly(t, await call(more), { status: 422, body: { errors: [{ code: 'insufficient_funds' }] } })
    await settle()
    t.equal(await onChain(), 60n * TOKEN - (30n * TOKEN) / 50n)
    await observed(await onChain())
  },
)

t.test(
  'a call that would move or burn a token of an open transfer is refused, and only the NFT routes mint',
  async (t) => {
    const collection = await stage.collection(wallet)
    await stage.mint(collection, wallet.address)
    await settle()
    t.strictSame(await stage.owners(collection), [`1 ${wallet.address} 1`])
    const direct = (signature: string, ...args: unknown[]) => ({
      ...{ contract_address: collection.contract, function_signature: signature, args },
    })
    matchExactly(t, await call(direct('revoke(uint256)', '2')), {
      status: 409,
      body: { errors: [{ code: 'managed_contract' }] },
    })
    await called(direct('setApprovalForAll(address,bool)', callee, true))
    await settle()
    const take = { function: 'take', args: [collection.contract, '1'] }
    t.match(await call({ ...take, mode: 'simulate' }), { status: 200, body: { data: { success: true } } })
    await service.stopWorker('signer')
    const sending = await stage.transfer({
      collection_id: collection.id,
      from: wallet.address,
      token_id: '1',
      to: STRANGER,
    })
    t.equal(sending.status, 202)
    for (const moving of [take, direct('burn(uint256)', '1')])
      matchExactly(t, await call(moving), {
        status: 409,
        body: { errors: [{ code: 'token_in_transfer', details: { transfer_id: sending.body.data.transfer_id } }] },
      })
    const beside = await called({ function: 'count', args: ['1', ''] })
    await service.startWorker('signer')
    await settle()
    t.strictSame(await stage.owners(collection), [`1 ${STRANGER} 1`])
    t.match(await stage.read(wallet, beside), { state: 'confirmed' }, 'a call that does not touch it is accepted')
  },
)

t.test('of a call with more than 64 events the first 64 are kept, and it says so', async (t) => {
  const eventsOf = async (times: number) => {
    const id = await called({ function: 'note', args: [times] })
    await settle()
    const view = await stage.read(wallet, id)
    return view as unknown as { readonly events: readonly object[]; readonly events_truncated: boolean }
  }
  const all = await eventsOf(64)
  t.strictSame([all.events.length, all.events_truncated], [64, false])
  const cut = await eventsOf(65)
  t.strictSame([cut.events.length, cut.events_truncated], [64, true])
  matchExactly(t, cut.events.at(-1), {
    name: 'Noted',
    args: [{}, { name: 'data', value: `0x${'3f'.padStart(64, '0')}` }],
  })
})

t.end()
