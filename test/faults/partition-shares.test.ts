/** One of two signers that share the partitions of lanes is killed under load: how soon the other works on all of them, and keeps them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { untilHolds, withPartitionStage } from '../support/partition-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

/** The default. */
const LEASE_MS = 10_000
/** The renewal that was under way, and the next try. */
const SOON_MS = 4_000
/** Longer than a heartbeat of the killed one counts, and two looks at who shares. */
const WATCHED_MS = 12_000
const LOOK_MS = 100
const NO_SWEEP = { SWEEP_INTERVAL_MS: '600000', REBROADCAST_AFTER_MS: '600000' }

const stage = await withPartitionStage(t, { wallets: 24, env: { ...NO_SWEEP, LEASE_MS: String(LEASE_MS) } })
const heldBy = async ({ pid }: Victim) => (await stage.heldBy('signer')).get(pid) ?? 0
const all = stage.partitions.length

t.test('a signer is killed: the other has its partitions within a lease, and gives none up for it', async (t) => {
  const [first, submitter] = [await stage.start('signer'), await stage.start('submitter')]
  const load = stage.keepSending()
  await within('the first has all', untilHolds(stage, 'signer', first, all))
  const second = await stage.start('signer')
  await within(
    'both share',
    eventually(async () => (await heldBy(first)) <= 8 && (await heldBy(first)) + (await heldBy(second)) === all),
  )
  second.kill()
  const killedAt = performance.now()
  await within('the first has all again', untilHolds(stage, 'signer', first, all))
  const tookMs = Math.round(performance.now() - killedAt)
  t.ok(tookMs <= LEASE_MS + SOON_MS, `after ${tookMs} ms`)
  let least = all
  for (const end = performance.now() + WATCHED_MS; performance.now() < end; await sleep(LOOK_MS))
    least = Math.min(least, await heldBy(first))
  t.equal(least, all)
  await load.end()
  await stage.mustBeWhole(t)
  for (const { pid } of [first, submitter]) process.kill(pid, 'SIGTERM')
  await within('they stop', Promise.all([first.ended, submitter.ended]))
})

t.end()
