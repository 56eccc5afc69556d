/**
 * Signers and submitters share the partitions of lanes. They are killed, hang, lose their leases, come and go, and the queue
 * is emptied: others go on with what they held, nothing is lost, and nothing is paid twice. No sweep helps in any of these.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { emptyQueues } from '../support/empty-queues.ts'
import { type HolderKind, type PartitionStage, untilHolds, withPartitionStage } from '../support/partition-stage.ts'
import { startTestRedis } from '../support/redis.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type { Victim } from '../support/victims.ts'
import { within } from '../support/within.ts'

const KINDS = ['signer', 'submitter'] as const
/** Of lanes. */
const PARTITIONS = 16
/** So many that nearly all partitions have some: two processes that hold six each would keep them, as a third of sixteen is six. */
const WALLETS = 64
/** Longer than BullMQ takes to give the jobs of a dead worker to another. */
const LEASE_MS = 6_000
const NO_SWEEP = { SWEEP_INTERVAL_MS: '600000', REBROADCAST_AFTER_MS: '600000' }
const env = { ...NO_SWEEP, LEASE_MS: String(LEASE_MS) }
/** How often leases are taken away. */
const TAKEN = 12

type Both = Readonly<Record<HolderKind, Victim>>

const startBoth = async (stage: PartitionStage): Promise<Both> => ({
  signer: await stage.start('signer'),
  submitter: await stage.start('submitter'),
})

/** In order: what they hold is given back. */
async function stop(...victims: readonly Victim[]): Promise<void> {
  for (const { pid } of victims) process.kill(pid, 'SIGTERM')
  await within('they stop', Promise.all(victims.map(({ ended }) => ended)))
}

const STEPS: Readonly<Record<HolderKind, string>> = {
  signer: 'append TransactionSigned',
  submitter: 'append TransactionSubmitted',
}

const stage = await withPartitionStage(t, { wallets: WALLETS, env })

t.test('a signer and a submitter that hold everything are killed under load: the others go on', async (t) => {
  const first = await startBoth(stage)
  const load = stage.keepSending()
  for (const kind of KINDS) await untilHolds(stage, kind, first[kind], stage.partitions.length)
  const second = await startBoth(stage)
  for (const kind of KINDS) first[kind].kill()
  for (const kind of KINDS)
    await within(`the second ${kind} has all`, untilHolds(stage, kind, second[kind], stage.partitions.length))
  await load.end()
  await stage.mustBeWhole(t)
  await stop(...Object.values(second))
})

for (const kind of KINDS) {
  t.test(`a ${kind} is killed in its first round: another does it, although no request follows`, async (t) => {
    const first = await startBoth(stage)
    const { armed, reached } = first[kind].arm({ moment: 'before', step: STEPS[kind] }, 'SIGKILL')
    await armed
    const sending = stage.sendEach()
    await within('it is killed', reached)
    await sending
    const second = await stage.start(kind)
    await stage.mustBeWhole(t)
    await stop(second, ...KINDS.filter((other) => other !== kind).map((other) => first[other]))
  })

  t.test(`a ${kind} hangs in the middle of a round for longer than its lease: what it held is refused`, async (t) => {
    const first = await startBoth(stage)
    const { armed, reached } = first[kind].arm({ moment: 'before', step: STEPS[kind] }, 'SIGSTOP')
    await armed
    const sending = stage.sendEach()
    await within('it stands', reached)
    await sending
    const second = await stage.start(kind)
    await stage.mustBeWhole(t)
    first[kind].resume()
    await within(
      'its append is refused',
      eventually(() => refusalsOf(first[kind], kind).length > 0),
    )
    await stop(second)
    await stage.sendEach()
    await stage.mustBeWhole(t)
    t.strictSame(unexpected(first[kind], kind), [], 'it goes on, and nothing else is refused')
    await stop(...Object.values(first))
  })
}

/** What the database returned for each refused commit of a process. A broken connection is no refusal. */
function refusalsOf({ failures }: Victim, kind: HolderKind): readonly string[] {
  const refused = failures.filter(({ step, error }) => step === STEPS[kind] && error.startsWith('['))
  return refused.flatMap(({ error }) => {
    const byCommit = new Map<number, string[]>()
    for (const { commit, outcome } of JSON.parse(error) as readonly Refusal[])
      byCommit.set(commit, [...(byCommit.get(commit) ?? []), outcome])
    // Whoever has the lease has written to the streams meanwhile: both are told.
    return [...byCommit.values()].map((outcomes) => (outcomes.includes('fence_lost') ? 'fence_lost' : outcomes.join()))
  })
}

/** Refusals for another reason than a lost lease. Bytes may be mined while their submission is recorded: then their streams have changed. */
function unexpected(victim: Victim, kind: HolderKind): readonly string[] {
  const expected = kind === 'signer' ? ['fence_lost'] : ['fence_lost', 'stream_conflict']
  return refusalsOf(victim, kind).filter((outcome) => !expected.includes(outcome))
}

type Refusal = { readonly commit: number; readonly outcome: string }

t.test('leases are taken away in the middle, again and again', async (t) => {
  const both = [await startBoth(stage), await startBoth(stage)]
  const load = stage.keepSending()
  let taken = 0
  for (let n = 0; n < TAKEN; n += 1) {
    taken += await stage.takeLeases()
    await sleep(LEASE_MS / TAKEN)
  }
  await load.end()
  await stage.mustBeWhole(t)
  const refused = both.flatMap((one) => KINDS.flatMap((kind) => refusalsOf(one[kind], kind)))
  t.ok(taken >= stage.partitions.length, `${taken} leases were taken away, ${refused.length} appends refused`)
  for (const kind of KINDS)
    t.strictSame(
      both.flatMap((one) => unexpected(one[kind], kind)),
      [],
      `nothing else of a ${kind} is refused`,
    )
  await stop(...both.flatMap((one) => Object.values(one)))
})

t.test('two signers, then four, then one: each holds a fair share', async (t) => {
  const { signer, submitter } = await startBoth(stage)
  const second = await stage.start('signer')
  const load = stage.keepSending()
  await within('two share', untilShared(stage, [signer, second]))
  const more = [await stage.start('signer'), await stage.start('signer')]
  await within('four share', untilShared(stage, [signer, second, ...more]))
  const since = performance.now()
  second.kill()
  await within('three have what it held', untilTaken(stage, [signer, ...more]))
  const leases = (performance.now() - since) / LEASE_MS
  t.ok(leases < 2, `they have it after ${leases.toFixed(1)} of a lease, which it renewed just before`)
  await stop(...more)
  await within('one has all', untilShared(stage, [signer]))
  await load.end()
  await stage.mustBeWhole(t)
  await stop(signer, submitter)
})

/** Waits until these signers hold all partitions. */
function untilTaken({ heldBy, partitions }: PartitionStage, signers: readonly Victim[]): Promise<true> {
  return eventually(async () => {
    const held = await heldBy('signer')
    return signers.reduce((sum, { pid }) => sum + (held.get(pid) ?? 0), 0) === partitions.length
  })
}

/** Waits until these signers hold all partitions, and none more than its share. */
function untilShared({ heldBy, partitions }: PartitionStage, signers: readonly Victim[]): Promise<true> {
  return eventually(async () => {
    const held = await heldBy('signer')
    const counts = signers.map(({ pid }) => held.get(pid) ?? 0)
    const isFair = counts.every((count) => count > 0 && count <= Math.ceil(PARTITIONS / signers.length))
    return isFair && counts.reduce((sum, count) => sum + count, 0) === partitions.length
  })
}

async function emptiedWhileHeld(
  t: Parameters<PartitionStage['mustBeWhole']>[0],
  stage: PartitionStage,
  empty: () => Promise<void>,
) {
  const both = await startBoth(stage)
  const load = stage.keepSending()
  for (const kind of KINDS) await untilHolds(stage, kind, both[kind], stage.partitions.length)
  await empty()
  await sleep(LEASE_MS / TAKEN)
  await empty()
  await load.end()
  await stage.mustBeWhole(t)
  await stop(...Object.values(both))
}

t.test('the queue in PostgreSQL is emptied while all partitions are held', (t) =>
  emptiedWhileHeld(t, stage, () => emptyQueues(stage.databaseUrl)),
)

t.test('Redis is emptied while all partitions are held', async (t) => {
  const redis = await startTestRedis()
  if (redis === null) return t.comment('skipped: Redis is not available')
  t.after(redis.close)
  const other = await withPartitionStage(t, { wallets: WALLETS / 2, env: { ...env, REDIS_URL: redis.url } })
  await emptiedWhileHeld(t, other, redis.empty)
})

t.end()
