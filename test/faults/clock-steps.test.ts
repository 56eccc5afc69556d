/**
 * The clock of one process's machine is set an hour forward, and back to an hour behind, while the others' are right.
 * Meanwhile jobs are lost, a node loses bytes, and a node is silent. Everything continues within seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted } from '../support/client.ts'
import { emptyQueues } from '../support/empty-queues.ts'
import { type Act, actNamed, mustBe, submitted } from '../support/points-acts.ts'
import { auditStage } from '../support/points-audit.ts'
import { type PointsStage, withPointsStage } from '../support/points-stage.ts'
import { type NodeProxy, withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { RECIPIENT } from '../support/service-stage.ts'
import { PROCESS_KINDS, type ProcessKind, type Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const HOUR_MS = 3_600_000
/** Long enough for a few failed tries. */
const SILENCE_MS = 1_000
const VALID_FOR_MS = 10 * 60_000

const lostJobs: Act = {
  name: 'a transfer whose jobs are lost',
  async play(stage) {
    const ids = await Promise.all(stage.wallets.map((wallet) => stage.send(wallet, 'native')))
    for (let times = 0; times < 3; times += 1) {
      await emptyQueues(stage.service.places.database_url)
      await sleep(50)
    }
    await stage.settle()
    for (const id of ids) await mustBe(stage, id, 'confirmed')
  },
}

const forgottenBytes: Act = {
  name: 'a transfer that the node forgets',
  async play(stage) {
    const { id } = await submitted(stage)
    const text = 'SELECT hash FROM transactions WHERE transaction_id = $1'
    const { rows } = await stage.service.pool.query<{ hash: string }>(text, [id])
    await stage.rpc('anvil_dropTransaction', rows[0]?.hash)
    await stage.settle()
    await mustBe(stage, id, 'confirmed')
  },
}

const validForMinutes: Act = {
  name: 'a transfer that is valid for ten minutes',
  async play(stage) {
    const body = { to: RECIPIENT, amount: '0.000001', asset: 'ETH' }
    const reply = await stage.api.send(`/v1/wallets/${stage.issuer.id}/transfer`, {
      ...body,
      valid_until: new Date(Date.now() + VALID_FOR_MS).toISOString(),
    })
    const { transaction_id } = accepted(reply)
    await stage.settle()
    await mustBe(stage, transaction_id, 'confirmed')
  },
}

/** A clock that is ahead ends too early what should last; one that is behind delays what should come soon. */
const STEPS = [
  { aheadMs: HOUR_MS, acts: [actNamed('a cancellation'), validForMinutes, lostJobs] },
  { aheadMs: -HOUR_MS, acts: [actNamed('a bump of what is stuck'), lostJobs, forgottenBytes] },
]

/** The node goes silent, requests arrive and are tried, the clock is set, and the node answers again. */
async function setInSilence(stage: PointsStage, node: NodeProxy, victim: Victim, aheadMs: number): Promise<void> {
  await actNamed('a transfer').play(stage) // Fills the caches before the test.
  node.decide = () => ({ type: 'refuse' })
  const sent = Promise.all(stage.wallets.map((wallet) => stage.send(wallet, 'native')))
  await sleep(SILENCE_MS)
  await victim.setClock(aheadMs)
  node.decide = () => ({ type: 'pass' })
  const ids = await sent
  await stage.settle()
  for (const id of ids) await mustBe(stage, id, 'confirmed')
}

/** The largest difference between an event's recording time and the database's. */
async function worstStamp(stage: PointsStage, since: Date): Promise<number> {
  const { rows } = await stage.service.pool.query<{ at: Date }>(
    'SELECT recorded_at AS at FROM events ORDER BY position',
  )
  const now = Date.now()
  const off = rows.map(({ at }) => Math.max(0, at.getTime() - now))
  const before = rows.filter(({ at }) => at.getTime() < since.getTime() - HOUR_MS / 2)
  return Math.max(0, ...off, ...before.map(({ at }) => since.getTime() - at.getTime()))
}

async function prove(stage: PointsStage, node: NodeProxy, kind: ProcessKind): Promise<string[]> {
  const since = new Date()
  const victim = stage.prepare(kind)
  await stage.stop(kind)
  await victim.start()
  const told: string[] = []
  for (const { aheadMs, acts } of STEPS) {
    const hours = aheadMs / HOUR_MS
    await within(`the ${kind} at ${hours} h, after a silence`, setInSilence(stage, node, victim, aheadMs))
    for (const act of acts) await within(`${act.name}, the ${kind} at ${hours} h`, act.play(stage))
  }
  const stampMs = await worstStamp(stage, since)
  if (stampMs > HOUR_MS / 2) told.push(`an event bears a time that is ${Math.round(stampMs / 60_000)} minutes off`)
  told.push(...(await auditStage(stage)))
  victim.kill()
  await victim.ended
  await stage.start(kind)
  return told
}

async function withShop() {
  const { node, before } = await withNodeProxyBefore(t)
  const stage = await withPointsStage(t, { nodes: before })
  await callRpc(stage.url, 'evm_mine')
  return { stage, node }
}

// Sequentially: starting is the most expensive part.
const shops = [await withShop(), await withShop()]
const waiting = [...PROCESS_KINDS]
const results = new Map<ProcessKind, string[]>()
await Promise.all(
  shops.map(async ({ stage, node }) => {
    for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift()) {
      results.set(kind, await prove(stage, node, kind).catch((error: unknown) => [String(error)]))
    }
  }),
)

for (const kind of PROCESS_KINDS) {
  t.test(`transfers go on when the clock of the ${kind} is set an hour forward and back`, async (t) => {
    t.strictSame(results.get(kind), [])
  })
}

t.end()
