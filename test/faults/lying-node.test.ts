/**
 * Nodes with false answers: they accept a transaction without a response, claim to have one that they dropped, or
 * refuse it. In every case each transfer is on chain once, with the bytes signed first.
 */
import { Transaction } from 'ethers/transaction'
import t from 'tap'
import { auditChain } from '../support/chain-audit.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { matchExactly } from '../support/match-exactly.ts'
import type { RpcCall } from '../support/node-fates.ts'
import { PASS, SEND_LIES, says, WRONG_CHAIN } from '../support/node-lies.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { byName, withStage } from '../support/service-stage.ts'

const SEND = 'eth_sendRawTransaction'
const LIES_TOLD = 2
const TRANSFERS_EACH = 3

const { node, before } = await withNodeProxyBefore(t)
const stage = await withStage(t, { nodes: before })
const { service, settle, send, read } = stage
/** Every request so far: all of them are audited each time. */
const answers: Answered[] = []
const wallets: LoadWallet[] = []

function plan(among: readonly LoadWallet[], count: number, seed: number) {
  return planTransfers(createRandom(seed), {
    wallets: among,
    count,
    firstNumber: answers.length,
    spreadMs: 200,
    tokens: 0,
    impatient: 0,
  })
}

async function audit() {
  return auditChain({ places: service.places, wallets, answers })
}

/** Which of the wallets an exchange submits transactions of. */
function sendersIn(calls: readonly RpcCall[], among: readonly LoadWallet[]): readonly LoadWallet[] {
  const sent = calls.filter(({ method }) => method === SEND)
  const senders = new Set(sent.map(({ params }) => Transaction.from(String(params[0])).from?.toLowerCase()))
  return among.filter(({ address }) => senders.has(address.toLowerCase()))
}

t.test(
  'with a node that gives false answers to submissions, each transfer is on chain once, as the first bytes',
  async (t) => {
    const mine = await service.makeWallets(Object.keys(SEND_LIES).length)
    wallets.push(...mine)
    const lies = Object.entries(SEND_LIES)
    const told = new Map<string, number>()
    // One lie after the other: an exchange submits for all wallets that have something to submit.
    for (const [index, [name, fate]] of lies.entries()) {
      const wallet = mine[index] as LoadWallet
      node.decide = (calls) => {
        const times = told.get(name) ?? 0
        if (times >= LIES_TOLD || sendersIn(calls, [wallet]).length === 0) return PASS
        told.set(name, times + 1)
        return fate
      }
      answers.push(...(await sendTransfers(service.api, plan([wallet], TRANSFERS_EACH, index))))
      await eventually(async () => told.has(name))
    }
    await settle()
    node.decide = () => PASS
    matchExactly(t, await audit(), { problems: [], once: answers.length, lost: 0, doubled: 0 })
    for (const wallet of mine) {
      const ids = answers
        .filter(({ transfer }) => transfer.wallet === wallet)
        .map(({ transactionId }) => transactionId ?? '')
      const views = await Promise.all(ids.map((id) => read(wallet, id)))
      t.ok(
        views.every(({ hashes }) => hashes.length === 1),
        'no transaction is signed twice',
      )
    }
  },
)

t.test('bytes that a node calls invalid are cancelled, so that the wallet goes on', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  let refusals = 1
  node.decide = (calls) => {
    if (sendersIn(calls, [wallet]).length === 0 || refusals === 0) return PASS
    refusals -= 1
    return says('intrinsic gas too low')
  }
  const refused = await send(wallet, '0.5')
  await stage.until(wallet, refused, 'replaced', 'submitted', 'cancelling', 'cancelled')
  const next = await send(wallet, '0.25')
  await settle()
  t.match(await read(wallet, refused), { status: 'cancelled' })
  t.match(await read(wallet, next), { status: 'confirmed' })
})

t.test('a node that accepts what it refused cannot cause a second payment', async (t) => {
  const mine = await service.makeWallets(6)
  wallets.push(...mine)
  const told = new Set<LoadWallet>()
  node.decide = (calls) => {
    const senders = sendersIn(calls, mine)
    if (senders.every((wallet) => told.has(wallet))) return PASS
    for (const wallet of senders) told.add(wallet)
    return { type: 'answer after', method: SEND, answer: { error: { code: -32000, message: 'invalid sender' } } }
  }
  const asked = await sendTransfers(service.api, plan(mine, 24, 2))
  answers.push(...asked)
  await settle()
  const { problems, once, ended, accepted } = await audit()
  t.strictSame(problems, [])
  t.equal(once + ended, accepted, 'each transfer is once on chain or has ended')
  t.equal(told.size, mine.length)
})

t.test('a gap from a wrong transaction count is filled by the next transfers', async (t) => {
  const { node, before } = await withNodeProxyBefore(t)
  // The service fills a gap itself once it is this old: here the next transfers come before that.
  const other = await withStage(t, { nodes: before, env: { REBROADCAST_AFTER_MS: '600000' } })
  const [wallet] = (await other.service.makeWallets(1)) as [LoadWallet]
  node.decide = () => ({ type: 'answer', method: 'eth_getTransactionCount', answer: { result: '0x3' } })
  const ids = [await other.send(wallet, '0.000001')]
  t.match(await other.until(wallet, ids[0] ?? '', 'submitted'), { nonce: 3 })
  node.decide = () => PASS
  for (const amount of ['0.000002', '0.000003', '0.000004', '0.000005']) ids.push(await other.send(wallet, amount))
  await other.settle()
  const views = await Promise.all(ids.map((id) => other.read(wallet, id)))
  t.strictSame(
    views.map(({ state, nonce }) => [state, nonce]),
    [3, 0, 1, 2, 4].map((nonce) => ['confirmed', nonce]),
  )
})

t.test('through a node that fails a third of the time, every transfer arrives once', async (t) => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const mine = await service.makeWallets(6)
  wallets.push(...mine)
  const random = createRandom(seed)
  const fates = Object.values(SEND_LIES)
  const { ended: endedBefore } = await audit()
  let failed = 0
  node.decide = () => {
    if (!random.chance(0.33)) return PASS
    failed += 1
    return random.pick(fates)
  }
  answers.push(...(await sendTransfers(service.api, plan(mine, 120, seed))))
  await settle()
  node.decide = () => PASS
  await settle()
  const { problems, once, ended, accepted } = await audit()
  t.strictSame(
    { problems, ended: ended - endedBefore, open: accepted - once - ended },
    { problems: [], ended: 0, open: 0 },
  )
  t.ok(failed > 0, `${failed} exchanges failed`)
})

t.test('a URL that serves another chain is only asked for its chain id, and the next one is used', async (t) => {
  const { node: wrong, before } = await withNodeProxyBefore(t)
  wrong.decide = () => WRONG_CHAIN
  const other = await withStage(t, { nodes: async (url) => [...(await before(url)), url, byName(url)] })
  const [wallet] = (await other.service.makeWallets(1)) as [LoadWallet]
  const id = await other.send(wallet, '1')
  await other.settle()
  t.match(await other.read(wallet, id), { state: 'confirmed' })
  t.strictSame([...wrong.asked.keys()].toSorted(), ['eth_blockNumber', 'eth_chainId'])
})

t.end()
