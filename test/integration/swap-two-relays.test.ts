/** Private relays that disagree, and what one of them says alone: by the real service. */
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted } from '../support/client.ts'
import { BUY, DOWN, hashesOf, PASS, refusing, TAKEN, withRelays } from '../support/relay-service.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const QUICK = { REBROADCAST_AFTER_MS: '1000' }

t.test('a relay that accepts bytes and never mines them does not keep the other one from getting them', async (t) => {
  const { swap, settled, relays, toNode } = await withRelays(t, 2, QUICK)
  const [first, second] = relays
  if (first === undefined || second === undefined) throw new Error('two relays run')
  first.ofSends = () => TAKEN
  const done = await settled(await swap(BUY))
  t.match(done, { status: 'confirmed', swap: { executed_from_amount: '1' } })
  t.strictSame(hashesOf(first.sent), new Set([done.hash]))
  t.strictSame(hashesOf(second.sent), new Set([done.hash]))
  t.strictSame(toNode, [])
})

t.test('a relay that was down gets the bytes when they are sent again, although the other one took them', async (t) => {
  const { swap, settled, relays, toNode } = await withRelays(t, 2, QUICK)
  const [first, second] = relays
  if (first === undefined || second === undefined) throw new Error('two relays run')
  first.ofSends = () => TAKEN
  second.ofSends = () => (first.sent.length < 2 ? DOWN : PASS)
  t.match(await settled(await swap(BUY)), { status: 'confirmed' })
  t.strictSame(toNode, [])
})

for (const says of ['nonce too low', 'invalid sender', 'insufficient funds for gas * price + value'])
  t.test(`"${says}" of one relay decides nothing while the other one takes the bytes`, async (t) => {
    const { swap, settled, relays, toNode } = await withRelays(t, 2, QUICK)
    const [first] = relays
    if (first === undefined) throw new Error('two relays run')
    first.ofSends = () => refusing(says)
    const done = await settled(await swap(BUY))
    t.match(done, { status: 'confirmed', swap: { executed_from_amount: '1' } })
    t.notOk(done.history.some(({ state }: { state: string }) => state === 'awaiting_funds'))
    t.strictSame(toNode, [], 'it was never cancelled')
  })

t.test(
  'what the only relay says is compared with the chain: it neither cancels a swap nor ends its sending',
  async (t) => {
    const { swap, settled, read, relays, toNode } = await withRelays(t, 1, QUICK)
    const [relay] = relays
    if (relay === undefined) throw new Error('a relay runs')
    for (const says of ['invalid sender', 'nonce too low', 'insufficient funds for gas * price + value']) {
      const before = relay.sent.length
      relay.ofSends = () => refusing(says)
      const reply = await swap(BUY)
      await eventually(() => relay.sent.length > before + 1)
      const waiting = await read(accepted(reply).transaction_id)
      t.equal(waiting.state, 'signed', says)
      relay.ofSends = () => PASS
      t.match(await settled(reply), { status: 'confirmed', swap: { executed_from_amount: '1' } }, says)
    }
    t.strictSame(toNode, [])
  },
)

t.test('a submitter without the relays of a request leaves it, and says so', async (t) => {
  const { service, swap, settled, read, relays, toNode, pool } = await withRelays(t, 1, QUICK)
  await service.stopWorker('submitter')
  await service.startWorker('submitter', 0, { ETHEREUM_SWAP_RPC_URLS: undefined })
  const reply = await swap(BUY)
  const problem = await eventually(async () => {
    const { rows } = await pool.query(`SELECT problem FROM heartbeats WHERE process = 'submitter'`)
    return rows[0]?.problem ?? undefined
  })
  t.match(problem, /1 swap of ethereum.*ETHEREUM_SWAP_RPC_URLS/)
  t.equal((await read(accepted(reply).transaction_id)).state, 'signed')
  t.strictSame([toNode, relays[0]?.sent], [[], []])
  await service.stopWorker('submitter')
  await service.startWorker('submitter')
  t.match(await settled(reply), { status: 'confirmed' }, 'one with the relays sends it')
  t.strictSame(toNode, [])
})

t.test('a swap on which two relays disagree until its deadline is cancelled through the nodes', async (t) => {
  const { service, swap, settled, until, relays, toNode, askedOfNode, wallet } = await withRelays(t, 2, QUICK)
  const [first, second] = relays
  if (first === undefined || second === undefined) throw new Error('two relays run')
  first.ofSends = () => TAKEN
  second.ofSends = () => refusing('invalid sender')
  const reply = await swap(BUY)
  await until(accepted(reply).transaction_id, 'submitted')
  await eventually(() => second.sent.length > 1)
  t.strictSame(toNode, [], 'what the second one says ends nothing before')
  await service.stopWorker('submitter')
  await service.startWorker('submitter', 601_000)
  t.match(await settled(reply), { status: 'cancelled', swap: { private: true, executed_to_amount: null } })
  const [relayed] = first.sent
  for (const { to, data } of toNode)
    t.strictSame([to, data], [wallet.address, '0x'], 'nodes get the cancellation alone')
  t.ok(
    first.sent.some(({ to }) => to === wallet.address),
    'relays get it too',
  )
  t.ok(second.sent.some(({ to }) => to === wallet.address))
  const shownIn = askedOfNode.filter(({ params }) =>
    JSON.stringify(params).includes(relayed?.data.slice(2) ?? 'no data'),
  )
  t.strictSame(
    [...new Set(shownIn.map(({ method }) => method))].sort(),
    ['eth_estimateGas', 'eth_simulateV1'],
    'nodes know its call from simulations only, and never signed bytes',
  )
})

t.test('a private swap that fails in its block is public then, and cannot be sent again', async (t) => {
  const { swap, settled, until, quote, overtake, relays, toNode, url } = await withRelays(t, 2, {
    ...QUICK,
    REBROADCAST_AFTER_MS: '60000',
  })
  for (const relay of relays) relay.ofSends = () => TAKEN
  const { quote_id: quoteId } = await quote({ ...BUY, slippage_bps: 0 })
  const reply = await swap({ quote_id: quoteId })
  await until(accepted(reply).transaction_id, 'submitted')
  await overtake(quoteId, 1n)
  const [bytes] = relays[0]?.sent ?? []
  await callRpc(url, 'eth_sendRawTransaction', [bytes?.serialized]) // As a relay that puts what fails into a block.
  const failed = await settled(reply)
  t.match(failed, { status: 'failed', hash: bytes?.hash, failure: { code: 'slippage_exceeded' } })
  t.strictSame(toNode, [], 'it was public only in its block')
  await t.rejects(callRpc(url, 'eth_sendRawTransaction', [bytes?.serialized]), /nonce too low/)
  for (const relay of relays) relay.ofSends = () => PASS
  t.match(await settled(await swap(BUY)), { status: 'confirmed' }, 'the lane goes on')
})
