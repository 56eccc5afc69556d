/** A guard that is not where one node says it is, or is there only for now: nothing is paid to an address without code. */
import t from 'tap'
import { createRpcClient } from '../../src/chain/rpc-client.ts'
import { newId } from '../../src/compose/new-id.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import {
  deployGuard,
  EXECUTOR_ADDRESS,
  encodeGuardedSwap,
  GUARD_ADDRESS,
  readGuardProblem,
} from '../../src/swaps/contracts/guard.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { OpeningEvent } from '../../src/transactions/all-events.ts'
import { withAnvil } from '../support/anvil.ts'
import { accepted } from '../support/client.ts'
import { forge, logOf } from '../support/forge.ts'
import { withLyingCodes } from '../support/lying-codes.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withSource } from '../support/source-service.ts'
import { ALICE, mined } from '../support/swap-stage.ts'

const BUYING = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }

t.test('one node of two that says there is a guard where none is gets nothing paid to it', async (t) => {
  const codes: Record<string, string> = {}
  const { quote, swap, settled, url, source } = await withSource(t, {
    async before(url) {
      for (const address of [GUARD_ADDRESS, EXECUTOR_ADDRESS]) {
        codes[address.toLowerCase()] = (await callRpc(url, 'eth_getCode', [address, 'latest'])) as string
        await callRpc(url, 'anvil_setCode', [address, '0x'])
      }
      return [await withLyingCodes(t, url, () => ({ said: codes, simulated: codes })), url]
    },
  })
  let quoted = await quote(BUYING)
  for (let i = 0; i < 3 && quoted.route[0].protocol !== '0x'; i++) quoted = await quote(BUYING)
  t.equal(source.requests.length, 0, 'the source is not asked')
  const done = await settled(await swap({ quote_id: quoted.quote_id }))
  t.match(done, { status: 'confirmed', swap: { executed_to_amount: quoted.to_amount } }, 'the exchange keeps the swap')
  const wei = BigInt((await callRpc(url, 'eth_getBalance', [GUARD_ADDRESS, 'latest'])) as string)
  t.equal(wei, 0n, 'nothing lies at the address of the guard')
})

t.test('a guard counts only when it is in a final block, since a reorg may revoke its deployment', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const client = createRpcClient({
    ...{ urls: [url], chainId: Number(await callRpc(url, 'eth_chainId')), timeoutMs: 10_000 },
    now: () => performance.now(),
    log: { warn: () => undefined, info: () => undefined, error: () => undefined },
  })
  t.teardown(client.close)
  t.equal((await mined(url, { from: ALICE, ...deployGuard() })).status, '0x1')
  t.equal(await readGuardProblem(client), `the swap guard is not deployed at ${GUARD_ADDRESS} in a final block yet`)
  for (let blocks = 0; blocks < 2; blocks++) await callRpc(url, 'evm_mine')
  t.equal(await readGuardProblem(client), null)
})

t.test('a forged swap through the guard that is not said to be hosted is not signed without a guard', async (t) => {
  const { swap, settled, read, service, exchanges } = await withSource(t, {
    async before(url) {
      for (const address of [GUARD_ADDRESS, EXECUTOR_ADDRESS]) await callRpc(url, 'anvil_setCode', [address, '0x'])
      return [url]
    },
  })
  const reply = await swap(BUYING)
  await settled(reply)
  const { state } = await service.kernel.log.load(transactionAggregate, accepted(reply).transaction_id)
  if (state.state === 'unknown' || state.intent.swap === undefined) throw new Error('the swap is in the log')
  const { subject: _, idempotency: __, swap: exchange, ...shared } = state.intent
  const call = encodeGuardedSwap({
    ...{ sold: null, bought: exchange.toAsset.contract, amount: shared.amount, minimum: BigInt(exchange.limit) },
    deadline: Date.parse(shared.validUntil ?? '') / 1_000,
    ...{ target: exchanges.swapRouter, spender: null, data: '0x12345678' },
  })
  const subject = { type: 'swap', id: newId('swap') } as const
  const forged = { ...shared, subject, to: GUARD_ADDRESS, data: call.data, swap: exchange }
  const id = newId('transaction')
  const log = logOf(t, service.urlAs('api'), service.kernel.wakeUps)
  const event = { type: 'SwapRequested', data: forged } as OpeningEvent
  await forge(log, transactionAggregate, id, [event], { metadata: { tenantId: 'acme', actor: 'test' } })
  const held = await eventually(async () => {
    const view = await read(id)
    return view.waiting !== null || view.state !== 'requested' ? view : undefined
  })
  t.match(held, { state: 'requested', hash: null, waiting: { message: /guard is not deployed/ } })
})
