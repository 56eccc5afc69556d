/** What became of swaps and contract calls: in the metrics of the processes that know it, and as `explain` tells it. */
import t from 'tap'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { runCommandLine } from '../support/cli.ts'
import { accepted } from '../support/client.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { RECIPIENT } from '../support/service-stage.ts'
import { withSwapService } from '../support/swap-service.ts'

type Stage = Awaited<ReturnType<typeof withSwapService>>

/** The lines of a counter, without the label of the process. */
function linesOf(text: string, name: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => line.slice(name.length).replace(/,?process="[^"]+"/, ''))
    .toSorted()
}

async function requests({ service }: Stage): Promise<readonly string[]> {
  return linesOf(await (await fetch(`${service.baseUrl}/metrics`)).text(), 'bursar_call_requests_total')
}

/** Once it is there: the process counts what it has appended. */
function ended({ service }: Stage, worker: 'signer' | 'chain-follower', line: string): Promise<boolean> {
  return eventually(async () => {
    const text = await service.workerOf(worker).metrics.registry.metrics()
    return linesOf(text, 'bursar_transactions_ended_total').includes(line) || undefined
  })
}

/** Once there is one. */
function observed({ service }: Stage, labels: string): Promise<boolean> {
  return eventually(async () => {
    const text = await service.workerOf('chain-follower').metrics.registry.metrics()
    return linesOf(text, 'bursar_observed_transfers_total').some((line) => line.startsWith(labels)) || undefined
  })
}

/** What `npm run bursar -- explain` prints, with exit code 0. */
async function explained({ service }: Stage, id: string): Promise<string> {
  const { code, out, err } = await runCommandLine(await bursarCommands(service.env), `explain ${id}`)
  if (code !== 0) throw new Error(`${code}: ${out}${err}`)
  return out
}

t.test('requests and ends of swaps are counted by outcome', async (t) => {
  const stage = await withSwapService(t)
  const { quote, swap, settled, overtake, service } = stage
  const buying = await quote({ from_asset: 'ETH', to_asset: 'USDC', amount: '1' })
  await settled(await swap({ quote_id: buying.quote_id }, { key: 'once' }))
  t.match(await swap({ quote_id: buying.quote_id }, { key: 'once' }), { status: 202 })
  t.match(await swap({ quote_id: buying.quote_id }), { status: 409 })
  t.ok(await ended(stage, 'chain-follower', '{network="ethereum",type="SWAP",outcome="confirmed"} 1'))
  for (const status of ['detected', 'confirmed'])
    t.ok(await observed(stage, `{network="ethereum",direction="in",status="${status}"}`), `what came in is ${status}`)

  await service.stopWorker('signer')
  const losing = await quote({ from_asset: 'ETH', to_asset: 'USDC', amount: '1', slippage_bps: 10 })
  const reply = await swap({ quote_id: losing.quote_id })
  accepted(reply)
  await overtake(losing.quote_id, 50n)
  await service.startWorker('signer')
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', hash: null })
  const told = await explained(stage, failed.transaction_id)
  t.match(told, /swap +1 ETH for [\d.]+ USDC, at least [\d.]+ USDC/)
  t.match(told, /code +slippage_exceeded \(derived\)\n +reason +Too little received\n/)
  t.match(told, /now {2}failed .* It ended with slippage_exceeded: .*Too little received/)
  t.match(told, /→ The price moved\. Request a new quote/)
  t.match(await explained(stage, failed.subject.id), new RegExp(`${failed.transaction_id} +SWAP +failed`))
  t.ok(await ended(stage, 'signer', '{network="ethereum",type="SWAP",outcome="slippage_exceeded"} 1'))
  t.strictSame(await requests(stage), [
    '{kind="swap",outcome="accepted"} 2',
    '{kind="swap",outcome="quote_used"} 1',
    '{kind="swap",outcome="repeated"} 1',
  ])
})

t.test('requests and ends of contract calls are counted by outcome', async (t) => {
  const stage = await withSwapService(t)
  const { service, settled, wallet, contracts } = stage
  const call = (body: object) =>
    service.api.insist({
      method: 'POST',
      path: `/v1/wallets/${wallet.id}/contract-call`,
      body: { contract_address: contracts.usdc, ...body },
    })
  await settled(await call({ function_signature: 'approve(address,uint256)', args: [RECIPIENT, '5'] }))
  const pull = { function_signature: 'transferFrom(address,address,uint256)', args: [RECIPIENT, RECIPIENT, '1'] }
  t.match(await call(pull), { status: 422 })
  const failed = await settled(await call({ ...pull, gas_limit: 100_000 }))
  const told = await explained(stage, failed.transaction_id)
  t.match(told, /call +transferFrom\(address,address,uint256\)/)
  t.match(told, /code +execution_reverted\n +reason +ERC20InsufficientAllowance/)
  t.match(told, /It ended with execution_reverted: /)
  t.match(told, /→ Send the same call with mode simulate/)
  t.match(await call({ data: '0x' }), { status: 422 })
  t.ok(await ended(stage, 'chain-follower', '{network="ethereum",type="CONTRACT",outcome="confirmed"} 1'))
  t.ok(await ended(stage, 'signer', '{network="ethereum",type="CONTRACT",outcome="execution_reverted"} 1'))
  t.strictSame(await requests(stage), [
    '{kind="contract_call",outcome="accepted"} 2',
    '{kind="contract_call",outcome="call_reverts"} 1',
    '{kind="contract_call",outcome="use_transfer"} 1',
  ])
})
