/**
 * Signers and submitters share the partitions of lanes. They are killed, hang, lose their leases, come and go: others go on
 * with what they held, nothing is lost, and nothing is paid twice. No sweep helps in any of these.
 */
import t from 'tap'
import { emptyQueues } from '../support/empty-queues.ts'
import { type HolderKind, type PartitionStage, untilHolds, withPartitionStage } from '../support/partition-stage.ts'
import { startTestRedis } from '../support/redis.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const KINDS = ['signer', 'submitter'] as const
const WALLETS = 32
/** Longer than BullMQ takes to give the jobs of a dead worker to another. */
const LEASE_MS = 8_000
const NO_SWEEP = { SWEEP_INTERVAL_MS: '600000', REBROADCAST_AFTER_MS: '600000' }
const env = { ...NO_SWEEP, LEASE_MS: String(LEASE_MS) }

const startBoth = async (stage: PartitionStage) => ({
  signer: await stage.start('signer'),
  submitter: await stage.start('submitter'),
})

t.test('a signer and a submitter that hold everything are killed under load: the others go on', async (t) => {
  const stage = await withPartitionStage(t, { wallets: WALLETS, env })
  const first = await startBoth(stage)
  const load = stage.keepSending()
  for (const kind of KINDS) await untilHolds(stage, kind, first[kind], stage.partitions.length)
  const second = await startBoth(stage)
  for (const kind of KINDS) first[kind].kill()
  for (const kind of KINDS)
    await within(`the second ${kind} has all`, untilHolds(stage, kind, second[kind], stage.partitions.length))
  await load.end()
  await stage.mustBeWhole(t)
})

const STEPS: Readonly<Record<HolderKind, string>> = {
  signer: 'append TransactionSigned',
  submitter: 'append TransactionSubmitted',
}

for (const kind of KINDS) {
  t.test(
    `a ${kind} is killed before it records its first round: another does it, although no request follows`,
    async (t) => {
      const stage = await withPartitionStage(t, { wallets: WALLETS, env })
      const first = await startBoth(stage)
      const { armed, reached } = first[kind].arm({ moment: 'before', step: STEPS[kind] }, 'SIGKILL')
      await armed
      const sending = stage.sendEach()
      await within('it is killed', reached)
      await sending
      await stage.start(kind)
      const since = performance.now()
      await stage.mustBeWhole(t)
      t.comment(`settled after ${Math.round(performance.now() - since)} ms`)
    },
  )
}
