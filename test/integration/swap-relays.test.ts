/** Private relays for swaps, by the real service: who gets which bytes, and what happens when a relay fails. */
import t, { type Test } from 'tap'
import { accepted } from '../support/client.ts'
import { BUY, hashesOf, PASS, TAKEN, withRelays } from '../support/relay-service.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** A service whose swaps go to one relay. */
async function withRelay(t: Test, env: Readonly<Record<string, string>> = {}) {
  const { relays, toNode, ...stage } = await withRelays(t, 1, env)
  const [relay] = relays
  if (relay === undefined) throw new Error('a relay runs')
  return { ...stage, relay, sentTo: { node: toNode, relay: relay.sent }, behaviour: relay }
}

t.test('a relay that knows one method gets the bytes of swaps, and the nodes get those of approvals', async (t) => {
  const { swap, settled, read, relay, sentTo } = await withRelay(t)
  const bought = await settled(await swap(BUY))
  t.match(bought, { status: 'confirmed', swap: { executed_from_amount: '1' } })
  const sold = await settled(await swap({ from_asset: 'USDC', to_asset: 'ETH', amount: '100' }))
  t.match(sold, { status: 'confirmed', swap: { executed_from_amount: '100' } })
  const approval = await read(sold.depends_on)
  t.strictSame(hashesOf(sentTo.relay), new Set([bought.hash, sold.hash]))
  t.strictSame(hashesOf(sentTo.node), new Set([approval.hash]))
  t.strictSame([...relay.asked.keys()].sort(), ['eth_chainId', 'eth_sendRawTransaction'])
})

t.test(
  'while the relay is down, a swap waits signed, and a cancellation through the nodes frees its lane',
  async (t) => {
    const { swap, settled, read, cancel, sentTo, behaviour, wallet } = await withRelay(t)
    behaviour.ofSends = () => ({ type: 'refuse' })
    const reply = await swap(BUY)
    await eventually(() => sentTo.relay.length > 1)
    t.equal((await read(accepted(reply).transaction_id)).state, 'signed')
    t.strictSame(sentTo.node, [])
    t.equal((await cancel(accepted(reply).transaction_id)).status, 202)
    t.match(await settled(reply), { status: 'cancelled', swap: { executed_to_amount: null } })
    for (const { to, data } of sentTo.node)
      t.strictSame([to, data], [wallet.address, '0x'], 'the nodes never saw the swap')
    behaviour.ofSends = () => PASS
    t.match(await settled(await swap(BUY)), { status: 'confirmed' })
  },
)

t.test('bytes that the relay took and dropped are sent to it again, and then with a higher fee', async (t) => {
  const { swap, settled, sentTo, behaviour } = await withRelay(t, {
    REPLACE_AFTER_MS: '3000',
    REBROADCAST_AFTER_MS: '1000',
  })
  behaviour.ofSends = () => TAKEN
  const reply = await swap(BUY)
  await eventually(() => hashesOf(sentTo.relay).size > 1)
  const [first, second] = [...new Map(sentTo.relay.map((one) => [one.hash, one])).values()]
  t.equal(second?.nonce, first?.nonce)
  t.equal(second?.data, first?.data)
  t.ok((second?.maxFeePerGas ?? 0n) > (first?.maxFeePerGas ?? 0n))
  behaviour.ofSends = () => PASS
  t.match(await settled(reply), { status: 'confirmed', swap: { executed_from_amount: '1' } })
  t.strictSame(sentTo.node, [], 'the replacement is as private as the first bytes')
})

t.test('a swap that the relay never mines is cancelled through the nodes after its deadline', async (t) => {
  const { service, swap, settled, until, sentTo, behaviour, wallet } = await withRelay(t, {
    REBROADCAST_AFTER_MS: '1000',
  })
  behaviour.ofSends = () => TAKEN
  const first = await swap({ ...BUY, deadline_seconds: 600 })
  const second = await swap({ ...BUY, deadline_seconds: 3_600 })
  await until(accepted(second).transaction_id, 'submitted')
  t.strictSame(sentTo.node, [])
  await service.stopWorker('submitter')
  await service.startWorker('submitter', 601_000)
  t.match(await settled(first), { status: 'cancelled', swap: { executed_to_amount: null } })
  for (const { to, data } of sentTo.node) t.strictSame([to, data], [wallet.address, '0x'])
  behaviour.ofSends = () => PASS
  t.match(await settled(second), { status: 'confirmed' }, 'the next swap of its lane is still wanted')
})

t.test('an answer that is lost, and a relay that then knows the bytes, make one swap', async (t) => {
  const { swap, settled, sentTo, behaviour } = await withRelay(t)
  behaviour.ofSends = () => (sentTo.relay.length > 1 ? PASS : { type: 'silence after' })
  const done = await settled(await swap(BUY))
  t.match(done, { status: 'confirmed', swap: { executed_from_amount: '1' } })
  t.strictSame(hashesOf(sentTo.relay), new Set([done.hash]))
  t.strictSame(sentTo.node, [])
})
