/** Nodes that know less than before: a replica that has fallen behind, a lost pool, a different chain. */
import t, { type Test } from 'tap'
import { auditChain } from '../support/chain-audit.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { PASS, STALE, WRONG_CHAIN } from '../support/node-lies.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { byName, type Stage, withStage } from '../support/service-stage.ts'

/** A broken connection is opened once more before the node counts as unavailable. */
const REFUSALS = 2

const { node, before } = await withNodeProxyBefore(t)
const stage = await withStage(t, { nodes: before })
const { service, rpc, mine, settle } = stage
const answers: Answered[] = []
const wallets = await service.makeWallets(6)
/** A replica this far behind has seen the wallets' funding, and nothing later. */
await mine(60)

function transfer(among: readonly LoadWallet[], count: number, seed: number) {
  const plan = { wallets: among, count, firstNumber: answers.length, spreadMs: 1_000, tokens: 0, impatient: 0 }
  return sendTransfers(service.api, planTransfers(createRandom(seed), plan))
}

async function audit(t: Test) {
  matchExactly(t, await auditChain({ places: service.places, wallets, answers }), {
    problems: [],
    once: answers.length,
    lost: 0,
    doubled: 0,
  })
}

async function countOf({ service: { pool } }: Stage, type: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events WHERE type = $1', [type])
  return rows[0]?.n ?? 0
}

t.test('with a replica 50 blocks behind nothing is undone, and no nonce is used twice', async (t) => {
  answers.push(...(await transfer(wallets, 30, 1)))
  await settle()
  node.decide = () => STALE
  const during = transfer(wallets, 30, 2)
  await eventually(() => (node.told.get('50 blocks behind') ?? 0) > 100)
  answers.push(...(await during))
  node.decide = () => PASS
  await settle()
  await audit(t)
  t.equal(await countOf(stage, 'ReorgDetected'), 0)
  t.equal(await countOf(stage, 'NonceConsumedExternally'), 0)
})

t.test('with a load balancer of a current node and one 50 blocks behind nothing is undone', async (t) => {
  const random = createRandom(3)
  const toldBefore = node.told.get('50 blocks behind') ?? 0
  node.decide = () => (random.chance(0.5) ? STALE : PASS)
  answers.push(...(await transfer(wallets, 60, 3)))
  await settle()
  await audit(t)
  node.decide = () => PASS
  t.ok((node.told.get('50 blocks behind') ?? 0) > toldBefore)
  t.equal(await countOf(stage, 'ReorgDetected'), 0)
})

t.test('a URL that is 50 blocks behind is used after the others', async (t) => {
  const { node: stale, before } = await withNodeProxyBefore(t)
  const other = await withStage(t, { nodes: async (url) => [...(await before(url)), url, byName(url)] })
  const [wallet] = (await other.service.makeWallets(1)) as [LoadWallet]
  await other.mine(60)
  await other.settle()
  stale.decide = () => STALE
  const id = await other.send(wallet, '1')
  await other.settle()
  t.match(await other.read(wallet, id), { state: 'confirmed' }, 'the transfer is confirmed through the others')
  t.equal(await countOf(other, 'ReorgDetected'), 0)
})

t.test('a node that lost its pool gets the same bytes again', async (t) => {
  answers.push(...(await transfer(wallets, 40, 4)))
  await eventually(async () => {
    const { rows } = await service.pool.query(`SELECT FROM transactions WHERE state IN ('requested', 'signed')`)
    return rows.length === 0
  })
  // Without the submitter nothing is sent again meanwhile.
  await service.stopWorker('submitter')
  await rpc('anvil_dropAllTransactions')
  await mine()
  t.match(await rpc('txpool_status'), { pending: '0x0', queued: '0x0' }, 'the pool is empty')
  await service.startWorker('submitter')
  await settle()
  await audit(t)
  t.equal(await countOf(stage, 'TransactionReplaced'), 0, 'no transaction is signed again')
})

t.test('a node that changes to another chain gets no transactions until it is correct again', async (t) => {
  const { node, before } = await withNodeProxyBefore(t)
  const other = await withStage(t, { nodes: before })
  const [wallet] = (await other.service.makeWallets(1)) as [LoadWallet]
  const first = await other.send(wallet, '1')
  await other.settle()
  // The server behind the URL changes as in reality: connections break, and another node is behind it.
  const refusals = new Map<string, number>()
  node.decide = (calls) => {
    if (calls.some(({ method }) => method === 'eth_chainId')) return WRONG_CHAIN
    const [{ method } = { method: '' }] = calls
    const times = refusals.get(method) ?? 0
    refusals.set(method, times + 1)
    return times < REFUSALS ? { type: 'refuse' } : PASS
  }
  const id = await other.send(wallet, '1')
  const toldBefore = node.told.get('eth_chainId 0x1') ?? 0
  await eventually(() => (node.told.get('eth_chainId 0x1') ?? 0) > toldBefore + 2)
  t.ok((refusals.get('eth_sendRawTransaction') ?? 0) <= REFUSALS, 'only requests with broken connections were sent')
  t.match(await other.read(wallet, id), { state: /^(requested|signed)$/ })
  node.decide = () => PASS
  await other.settle()
  for (const one of [first, id]) t.match(await other.read(wallet, one), { state: 'confirmed' })
})

t.end()
