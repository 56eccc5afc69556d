/** A compromised coordinator and requests with call data: the parties sign the recorded call, and no other one. */
import t, { type Test } from 'tap'
import { addressWord, uintWord } from '../../src/chain/hex.ts'
import { newId } from '../../src/compose/new-id.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { buildCall } from '../../src/transactions/build-call.ts'
import { accepted } from '../support/client.ts'
import { withExchanges } from '../support/exchanges.ts'
import { forge } from '../support/forge.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, GWEI, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { onChain, RECIPIENT } from '../support/service-stage.ts'

const exchanges = await withExchanges(t)
const { usdc, usdt } = exchanges.contracts
const stage = await withMpcStage(t, {
  keys: [goldenShares(2, 3)],
  chain: async () => exchanges,
  env: { ...exchanges.env, ETHEREUM_POLL_INTERVAL_MS: '50', ETHEREUM_CONFIRMATIONS: '2' },
})
const puppeteer = await withPuppeteer(t, stage)
const [wallet] = stage.wallets as [MpcWallet]

// Accepted requests wait for a signature, and only the test requests it.
await stage.service.stopWorker('signer')

async function request(path: string, body: object): Promise<string> {
  return accepted(await stage.service.api.send(`/v1/wallets/${wallet.id}/${path}`, body)).transaction_id
}

/** Same as built by the lane. */
async function built(id: string, nonce: number): Promise<UnsignedTransaction> {
  const { state } = await stage.service.kernel.log.load(transactionAggregate, id)
  if (state.state === 'unknown') throw new Error(`there is no ${id}`)
  const { chainId, reserved } = state.intent
  const fees = { ...reserved, maxPriorityFeePerGas: GWEI }
  return { chainId, nonce, ...buildCall(state.intent), ...fees }
}

const answer = async (id: string, transaction: UnsignedTransaction) =>
  refusalKinds(await askToSign(puppeteer, [signingItem(wallet, id, await tagAs(stage, id, transaction))]))

/** Each lie is refused by both parties for its call; then what was recorded is signed. */
async function onlyAsRecorded(
  t: Test,
  { id, nonce }: { readonly id: string; readonly nonce: number },
  lies: (recorded: UnsignedTransaction) => Readonly<Record<string, Partial<UnsignedTransaction>>>,
): Promise<void> {
  const recorded = await built(id, nonce)
  const told = Object.entries(lies(recorded))
  const refusals = () =>
    stage.parties.lines.filter(({ rule }) => rule === 'the call differs from the requested one').length
  const before = refusals()
  for (const [what, lie] of told) {
    if (lie.data !== undefined) t.not(lie.data, recorded.data, `${what} changes the call data`)
    t.strictSame(await answer(id, { ...recorded, ...lie }), [['not_covered'], ['not_covered']], what)
  }
  t.strictSame(refusals() - before, 2 * told.length, 'both parties log each refusal')
  t.strictSame(await answer(id, recorded), [['signed'], ['signed']], 'what was recorded is signed')
}

t.test('a contract call is signed with its data, value and contract alone', async (t) => {
  const id = await request('contract-call', {
    contract_address: usdc,
    function_signature: 'approve(address,uint256)',
    args: [RECIPIENT, '5'],
  })
  await onlyAsRecorded(t, { id, nonce: 0 }, ({ data }) => ({
    'another spender': { data: data.replace(addressWord(RECIPIENT), addressWord(THIEF)) },
    'another amount': { data: data.replace(uintWord(5n), uintWord(6n)) },
    'another function': { data: `0xa9059cbb${data.slice(10)}` },
    'more data': { data: `${data}00` },
    'no data': { data: '0x' },
    'native currency beside it': { value: 1n },
    'another contract': { to: usdt },
  }))
})

let swapId = ''

t.test('a swap is signed with its minimum, recipient, value and router alone', async (t) => {
  const id = await request('swap', { from_asset: 'ETH', to_asset: 'USDC', amount: '1' })
  swapId = id
  const { swap } = (await stage.read(wallet, id)) as unknown as { swap: { min_to_amount: string } }
  const minimum = BigInt(Math.round(Number(swap.min_to_amount) * 1e6))
  await onlyAsRecorded(t, { id, nonce: 1 }, ({ data, value }) => ({
    'a lower minimum': { data: data.replace(uintWord(minimum), uintWord(1n)) },
    'another recipient': { data: data.replace(addressWord(wallet.address), addressWord(THIEF)) },
    'another bought token': { data: data.replace(addressWord(usdc), addressWord(usdt)) },
    'a larger amount': { value: value + 1n },
    'a smaller amount': { value: value - 1n },
    'another router': { to: THIEF },
  }))
})

t.test(
  'a swap that goes to no exchange of a party, or pays another, is not signed, whatever the log says',
  async (t) => {
    const { log } = stage.service.kernel
    const { state } = await log.load(transactionAggregate, swapId)
    if (state.state === 'unknown') throw new Error('the swap is in the log')
    const { intent } = state
    const paysThief = intent.data?.replaceAll(addressWord(wallet.address), addressWord(THIEF)) ?? null
    t.not(paysThief, intent.data)
    const cases = [
      [{ to: THIEF }, /SWAP_VENUES/],
      [{ data: paysThief }, /no swap of its exchange that pays the wallet/],
    ] as const
    for (const [forged, rule] of cases) {
      const id = newId('transaction')
      const subject = { type: 'swap', id: newId('swap') } as const
      const data = { ...intent, ...forged, subject, idempotency: null }
      const metadata = { tenantId: 'acme', actor: 'test' }
      await forge(log, transactionAggregate, id, [{ type: 'SwapRequested', data }], { metadata })
      t.strictSame(await answer(id, await built(id, 2)), [['not_covered'], ['not_covered']])
      t.match(stage.parties.lines.findLast((line) => line.rule !== undefined)?.rule, rule)
      const path = `/v1/wallets/${wallet.id}/transactions/${id}/cancel`
      await stage.service.api.insist({ method: 'POST', path, key: id })
    }
  },
)

t.test('both then land once', async (t) => {
  await stage.service.startWorker('signer')
  await stage.settle()
  t.equal((await onChain(stage, wallet)).length, 2)
})

t.end()
