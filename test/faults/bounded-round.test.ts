/**
 * One round of `npm run faults`, short enough for every test run: kills, false answers, reorgs and database faults, at
 * times derived from a seed. BURSAR_FAULT_SEED repeats one.
 */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { makeWallets, planTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { startWorld } from '../support/world.ts'
import { describeFault, type Kind, planFaults } from './fault-plan.ts'
import { runRound } from './run-round.ts'

const TRANSFERS = 300
/** Fraction of exchanges with false answers of nodes, all the time. */
const UNREST = 0.1
/** Nodes are not killed here: a killed one loses its unsaved state, including the wallets' funds. */
const KINDS: readonly Kind[] = [
  'api',
  'dispatcher',
  'signer',
  'submitter',
  'chain-follower',
  'postgres',
  'pause',
  'lies',
  'reorg',
  'commits',
  'connections',
  'disk',
  'read-only',
  'queue',
  'pool',
]
/** At least one of each, for every seed. */
const ALWAYS: readonly Kind[] = ['signer', 'chain-follower', 'lies', 'reorg', 'deep reorg', 'restart', 'commits']
const MORE = 7
/** Deeper than any reorg: the wallets' funding is below. */
const GROUND_BLOCKS = 16

t.test('a round of random faults loses nothing and doubles nothing', async (t) => {
  const seed = Number(process.env.BURSAR_FAULT_SEED ?? Date.now() % 1_000_000)
  t.comment(`BURSAR_FAULT_SEED=${seed}`)
  const random = createRandom(seed)
  const world = await startWorld({ RPC_TIMEOUT_MS: '2000' })
  t.after(world.close)
  const { service } = world
  const wallets = await makeWallets(service.api, [
    ...Array.from({ length: 4 }, () => 'ethereum' as const),
    'polygon',
    'polygon',
    'binance',
    'binance',
  ])
  for (const { rpc_url } of Object.values(service.state().networks))
    await callRpc(rpc_url, 'anvil_mine', [toQuantity(GROUND_BLOCKS)])
  const { faults: more, withinMs } = planFaults(random, { round: 0, count: MORE, only: KINDS })
  const always = ALWAYS.flatMap((kind) => planFaults(random, { round: 0, count: 1, only: [kind] }).faults)
  const faults = [...more, ...always].sort((a, b) => a.atMs - b.atMs)
  t.comment(faults.map(describeFault).join(', '))
  const plan = { wallets, count: TRANSFERS, firstNumber: 0, spreadMs: withinMs, tokens: 0.25, impatient: 0.03 }
  const transfers = planTransfers(random, plan)
  const { audit, hits, settledMs } = await runRound({
    world,
    wallets,
    transfers,
    faults,
    random,
    unrest: UNREST,
    earlier: [],
  })
  const { accepted, once, ended, doubled, lost, problems } = audit
  t.strictSame(problems, [])
  t.strictSame({ open: accepted - once - ended, doubled, lost }, { open: 0, doubled: 0, lost: 0 })
  t.ok(accepted > TRANSFERS / 2)
  for (const kind of ['kills', 'lies', 'reorgs', 'databaseFaults'] as const)
    t.ok(hits[kind] > 0, `${kind} occurred ${hits[kind]} times`)
  t.comment(
    `${once} of ${accepted} transfers once on chain, ${ended} ended with a reason, settled after ${Math.round(settledMs)} ms`,
  )
  if (!t.passing()) t.comment(service.lastWords())
})

t.end()
