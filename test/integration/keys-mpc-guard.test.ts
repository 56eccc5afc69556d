/**
 * What a party allows concurrently with one key, what it counts, and that its bans are on disk before they have visible
 * effects.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { type CheckLimits, openCheckCounts } from '../../src/keys/mpc/check-counts.ts'
import { createPairLimit } from '../../src/keys/mpc/pair-limit.ts'
import { BanNotKept, openPartyBans } from '../../src/keys/mpc/party-bans.ts'
import { createSigningGuard, MAX_INSTANCES } from '../../src/keys/mpc/signing-guard.ts'
import { temporaryDirectory } from '../support/mpc-processes.ts'

const key: JointKey = {
  ...{ keyId: 'key', threshold: 2, parties: [1, 2, 3], epoch: 0, refreshId: null, banned: [], apart: [] },
  ...{ publicKey: `0x02${'00'.repeat(32)}`, address: `0x${'12'.repeat(20)}` },
}
const other: JointKey = { ...key, keyId: 'other' }
const wanted = (count: number, name = 'sig', of = key) =>
  Array.from({ length: count }, (_, n) => ({ key: of, intent: { kind: 'signature', id: `${name}_${n}` } as const }))

async function guarded(t: Test, limits?: CheckLimits) {
  const directory = await temporaryDirectory(t)
  const bans = await openPartyBans(join(directory, 'bans'))
  const counts = await openCheckCounts(join(directory, 'checks'), () => true, limits)
  const guard = createSigningGuard({ bans, counts })
  const enter = async (items: ReturnType<typeof wanted>, others = [2]) => {
    const { refusals, watch, leave } = await guard.enter(items, others)
    return { kinds: refusals.map((refusal) => refusal?.kind ?? 'in'), watch, leave }
  }
  return { directory, bans, enter }
}

const times = (count: number, kind: string) => Array.from({ length: count }, () => kind)

t.test('eight signatures of a key run at once with one counterparty, and others do not count', async (t) => {
  const { enter } = await guarded(t)
  const first = await enter(wanted(5))
  const second = await enter(wanted(5, 'more'))
  t.strictSame(second.kinds, [...times(3, 'in'), ...times(2, 'busy')])
  t.strictSame((await enter(wanted(1, 'full'))).kinds, ['busy'])
  t.strictSame((await enter(wanted(MAX_INSTANCES, 'third'), [3])).kinds, times(MAX_INSTANCES, 'in'))
  t.strictSame((await enter(wanted(2, 'another', other))).kinds, times(2, 'in'))
  first.leave()
  first.leave()
  t.strictSame((await enter(wanted(6, 'after'))).kinds, [...times(5, 'in'), 'busy'], 'each place is freed only once')
})

t.test('an intent is signed in one session at a time, and once in it', async (t) => {
  const { enter } = await guarded(t)
  const [one] = wanted(1)
  const both = await enter([one, one] as ReturnType<typeof wanted>)
  t.strictSame(both.kinds, ['in', 'busy'])
  t.strictSame((await enter(wanted(1), [3])).kinds, ['busy'], 'another counterparty does not sign the intent either')
  both.leave()
  t.strictSame((await enter(wanted(1), [3])).kinds, ['in'])
})

t.test('a ban is in force in every session at once, and on the disk before it shows', async (t) => {
  const { enter, directory } = await guarded(t)
  const [first, second] = [await enter(wanted(2)), await enter([...wanted(1, 'more'), ...wanted(1, 'else', other)])]
  t.strictSame(first.watch.onCheated(0, 2), [0, 1])
  t.strictSame(
    [0, 1].map((place) => [first.watch.fallen(place)?.kind, second.watch.fallen(place)?.kind]),
    [
      ['banned', 'banned'],
      ['banned', undefined],
    ],
  )
  await second.watch.unkept()
  t.ok(existsSync(join(directory, 'bans', 'key.generated.2.ban')))
  t.equal(second.watch.unkept(), undefined)
})

t.test('a ban that cannot be written is in force, blocks every message, and is written later', async (t) => {
  const { bans, directory } = await guarded(t)
  await rm(join(directory, 'bans'), { recursive: true })
  await t.rejects(bans.add(key, 2), BanNotKept)
  t.strictSame(bans.of(key), [2])
  await t.rejects(bans.unkept(key) as Promise<void>, BanNotKept)
  await mkdir(join(directory, 'bans'))
  await bans.unkept(key)
  t.equal(bans.unkept(key), undefined)
  t.strictSame(
    (await openPartyBans(join(directory, 'bans'))).of({ ...key, epoch: 7 }),
    [2],
    'an epoch of the log does not lift the ban',
  )
})

t.test('old bans, which are named by their epoch, are in force', async (t) => {
  const directory = await temporaryDirectory(t)
  await writeFile(join(directory, 'key.0.3.ban'), '')
  const bans = await openPartyBans(directory)
  t.strictSame([bans.of(key), bans.of({ ...key, epoch: 1, refreshId: 'rfr_1' })], [[3], []])
})

t.test(
  'checks are on the disk before they are made, whatever dies, and new shares are asked for in time',
  async (t) => {
    const limits = { refreshFrom: 512, most: 1_024 }
    const { directory, enter } = await guarded(t, limits)
    const onDisk = async () => Number(await readFile(join(directory, 'checks', 'key.generated.checks'), 'utf8'))
    let states: string[] = []
    for (let n = 1; n <= 700; n += 1) {
      const { kinds, watch, leave } = await enter(wanted(1))
      await watch.counted
      leave()
      if ((await onDisk()) < n) t.fail(`${n} checks were made, but the file counts ${await onDisk()}`)
      states = [...states, ...kinds]
    }
    t.strictSame([states.indexOf('worn'), states.filter((kind) => kind === 'worn').length], [512, 1], 'once in a block')
    const again = await openCheckCounts(join(directory, 'checks'), () => true, limits)
    t.equal((await again.count(key, 1)).state, 'due', 'after a restart the count continues above the last block')
    for (let state = ''; state !== 'worn'; ) {
      const counted = await again.count(key, 1)
      await counted.kept
      state = counted.state
    }
    t.equal(await onDisk(), limits.most)
    const fresh = await again.count({ ...key, refreshId: 'rfr_1' }, 1)
    await fresh.kept
    t.equal(fresh.state, 'fine', 'new shares start a new count')
    await writeFile(join(directory, 'checks', 'key.generated.checks'), 'what is this')
    const damaged = await openCheckCounts(join(directory, 'checks'), () => true, limits)
    t.equal((await damaged.count(key, 1)).state, 'worn')
    await openCheckCounts(join(directory, 'checks'), (_, generation) => generation === 'rfr_1', limits)
    t.strictSame(await readdir(join(directory, 'checks')), ['key.rfr_1.checks'])
  },
)

t.test('checks that the disk does not count are not made', async (t) => {
  const { directory, enter } = await guarded(t)
  await rm(join(directory, 'checks'), { recursive: true })
  const { watch } = await enter(wanted(1))
  await t.rejects(watch.counted, { code: 'mpc_count_failed' })
  await mkdir(join(directory, 'checks'))
  await (await enter(wanted(1, 'more'))).watch.counted
})

t.test('a coordinator starts no more sessions with a pair than its parties allow, and loses none', async (t) => {
  const limit = createPairLimit(MAX_INSTANCES)
  const now = new Map<string, number>()
  let most = 0
  const run = (signers: readonly number[], count: number) =>
    limit({ signers, keys: Array.from({ length: count }, () => key) }, async () => {
      const name = signers.toSorted().join()
      now.set(name, (now.get(name) ?? 0) + count)
      most = Math.max(most, now.get(name) ?? 0)
      await new Promise((resolve) => setImmediate(resolve))
      now.set(name, (now.get(name) ?? 0) - count)
      return count
    })
  const pairs = [
    [1, 2],
    [2, 3],
    [3, 1],
  ]
  const counts = await Promise.all(Array.from({ length: 60 }, (_, n) => run(pairs[n % 3] as number[], 1 + (n % 8))))
  t.strictSame([counts.length, most], [60, MAX_INSTANCES])
  await t.rejects(
    limit({ signers: [1, 2], keys: [key] }, () => Promise.reject(new Error('it failed'))),
    /it failed/,
  )
  t.equal(await run([1, 2], 8), 8, 'a failed session frees its places')
})
