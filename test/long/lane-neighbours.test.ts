/**
 * What happens in some lanes delays no other: parties that are away or silent, many wallets that wait for funds. The waits of the others are compared with those of a run without it.
 */
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { KIND } from '../../src/keys/mpc/protocol.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { createTimer, mustNotGrow, type Sender } from '../support/hash-waits.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { changedChannel } from '../support/mpc-channel-faults.ts'
import { type MpcWallet, withMpcStage } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, type Stage, withStage } from '../support/service-stage.ts'

/** Transfers of each lane, one after the other. */
const TRANSFERS = 5
const OTHERS = 16
/** Nine of ten of the others may wait this much longer, on a machine that does other things too: far less than what they would wait for. */
const RATIO = 10
const AS_IN_PRODUCTION = {
  SIGN_WAIT_MS: '60000',
  LEASE_MS: '10000',
  SWEEP_INTERVAL_MS: '45000',
  REBROADCAST_AFTER_MS: '600000',
}
/** Lanes that wait for funds: `BURSAR_POOR_LANES=702` takes some minutes. */
const POOR = Number(process.env.BURSAR_POOR_LANES ?? 120)

const sendersOf = ({ service }: Stage, wallets: readonly LoadWallet[]): Sender[] =>
  wallets.map((wallet) => ({ api: service.api, wallets: [wallet] }))

async function statesOf({ service }: Stage, wallets: readonly LoadWallet[]): Promise<readonly string[]> {
  const { rows } = await service.pool.query<{ state: string }>(
    'SELECT DISTINCT state FROM transactions WHERE wallet_id = ANY($1) ORDER BY state',
    [wallets.map(({ id }) => id)],
  )
  return rows.map(({ state }) => state)
}

t.test('parties that are away, and one that is silent in the middle, hold no other lane', async (t) => {
  const stage = await withMpcStage(t, {
    keys: [goldenShares(2, 3), goldenShares(2, 2)],
    env: { ...AS_IN_PRODUCTION, MPC_ROUND_TIMEOUT_MS: '10000' },
  })
  const { parties, service, send, until } = stage
  const joint = stage.wallets as [MpcWallet, MpcWallet]
  const { waitsOf } = createTimer()
  const senders = sendersOf(stage, await service.makeWallets(OTHERS))
  await waitsOf(senders, TRANSFERS)
  const alone = await waitsOf(senders, TRANSFERS)
  const sent = new Map<MpcWallet, string[]>(joint.map((wallet) => [wallet, []]))
  const sendJointly = async () => {
    for (const [wallet, ids] of sent) for (let n = 0; n < 4; n += 1) ids.push(await send(wallet, '0.5'))
  }

  for (const number of [2, 3]) await parties.stop(number)
  await sendJointly()
  mustNotGrow(t, 'beside parties that are away', { alone, beside: await waitsOf(senders, TRANSFERS), ratio: RATIO })

  await parties.stop(1)
  let silenced = 0
  const silent = changedChannel(1, ({ frame, message }) => {
    if (message.kind !== KIND.signingRound) return [frame]
    silenced += 1
    return []
  })
  await parties.start(1, silent)
  await parties.start(2)
  await sendJointly()
  await eventually(() => silenced > 0)
  mustNotGrow(t, 'beside a silent party', { alone, beside: await waitsOf(senders, TRANSFERS), ratio: RATIO })

  await parties.stop(1)
  for (const number of [1, 3]) await parties.start(number)
  for (const [wallet, ids] of sent) for (const id of ids) await until(wallet, id, 'submitted', 'confirmed')
  await stage.settle()
  for (const [wallet, ids] of sent) t.equal((await onChain(stage, wallet)).length, ids.length, 'each is on chain once')
})

/** How many lanes the statements of passes read. */
function countReads() {
  const reads = { lanes: 0 }
  const counted = new Set(['look_at_lanes', 'lanes_to_submit'])
  return {
    reads,
    onQuery(query: unknown) {
      const { name, values } = (query ?? {}) as { readonly name?: string; readonly values?: readonly unknown[] }
      if (counted.has(name ?? '')) reads.lanes += (values?.[0] as readonly unknown[] | undefined)?.length ?? 0
    },
  }
}

t.test(`${POOR} lanes that wait for funds: another lane of their tenant is signed at once`, async (t) => {
  const stage = await withStage(t, { env: { ...AS_IN_PRODUCTION, SWEEP_INTERVAL_MS: '15000' } })
  const { service, rpc, mine, send } = stage
  const wallets = await service.makeWallets(OTHERS)
  const poor = await service.makeWallets(POOR)
  const { waitsOf } = createTimer()
  const senders = sendersOf(stage, wallets)
  await waitsOf(senders, TRANSFERS)
  const alone = await waitsOf(senders, TRANSFERS)

  await service.stopWorker('submitter')
  const ids = await Promise.all(poor.map((wallet) => send(wallet, '1')))
  for (const { address } of poor) await rpc('anvil_setBalance', address, '0x0')
  await mine()
  const { reads, onQuery } = countReads()
  for (const name of ['signer', 'submitter'] as const) {
    if (name === 'submitter') await service.startWorker(name)
    const { pool } = service.workerOf(name)
    const query = pool.query.bind(pool) as (...all: unknown[]) => unknown
    Object.assign(pool, {
      query(...all: unknown[]) {
        onQuery(all[0])
        return query(...all)
      },
    })
  }
  const shortOf = () =>
    service.lines.filter(({ msg, outcome }) => /rejected/.test(msg) && outcome === 'insufficient_funds')
  await eventually(() => new Set(shortOf().map(({ transaction_id }) => transaction_id)).size === POOR)
  const before = reads.lanes
  const since = performance.now()
  const beside = await waitsOf(senders, TRANSFERS * 4)
  const seconds = (performance.now() - since) / 1_000
  const again = reads.lanes - before - 3 * beside.length
  mustNotGrow(t, 'another lane', { alone, beside, ratio: RATIO })
  t.comment(`in ${seconds.toFixed(1)} s lanes that wait were read ${again} times`)
  t.ok(again <= POOR * (3 + seconds / 10), 'they are not read with the work of others')
  matchExactly(t, await statesOf(stage, poor), ['awaiting_funds'])

  for (const { address } of poor) await rpc('anvil_setBalance', address, toQuantity(10n ** 21n))
  await stage.settle()
  t.strictSame(await statesOf(stage, poor), ['confirmed'])
  t.equal(ids.length, POOR)
})

t.end()
