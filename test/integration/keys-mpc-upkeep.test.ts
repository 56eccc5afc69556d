/**
 * The periodic tasks of a party: shares and claims no longer in force are removed, and those that may come into force
 * never are.
 */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { v7 } from 'uuid'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { forgetEnded } from '../../src/keys/mpc/forget-ended.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { tidyShares } from '../../src/keys/mpc/tidy-shares.ts'
import { freshKek, listeningLog, temporaryDirectory } from '../support/mpc-processes.ts'

const DAY_MS = 24 * 60 * 60_000
const NOW = Date.now()
const facts = { threshold: 2, parties: 3, publicKey: `0x02${'ab'.repeat(32)}`, address: `0x${'12'.repeat(20)}` }
const { signal } = new AbortController()
const clock = () => NOW
const idOf = (prefix: string, days: number) => `${prefix}_${v7({ msecs: NOW - days * DAY_MS })}`
const keyOf = (keyId: string, refreshId: string | null): JointKey => ({
  ...facts,
  keyId,
  refreshId,
  parties: [1, 2, 3],
  epoch: refreshId === null ? 0 : 1,
  banned: [],
  apart: [],
})

/** @param unreadable keys of which the log has events that cannot be read */
async function party(
  t: Test,
  held: Readonly<Record<string, readonly string[]>>,
  known: readonly JointKey[],
  unreadable: readonly string[] = [],
) {
  const store = await openShareStore({ directory: await temporaryDirectory(t), party: 1, kek: freshKek() })
  for (const [keyId, generations] of Object.entries(held))
    for (const generation of generations) await store.prepare(keyId, generation, randomBytes(50), facts)
  const errors: string[] = []
  const asked: number[] = []
  let rests = 0
  const others = { hold: true }
  const ports = {
    store,
    isRecorded: async (keyId: string) => unreadable.includes(keyId),
    heldByAll: {
      async removing(_key: JointKey, remove: () => Promise<void>) {
        if (others.hold) await remove()
        return others.hold
      },
    },
    clock,
    jointKeysOf: async (keyIds: readonly string[]) => {
      asked.push(keyIds.length)
      return new Map(known.filter(({ keyId }) => keyIds.includes(keyId)).map((key) => [key.keyId, key]))
    },
    rest: async () => {
      rests += 1
    },
    onError: (_error: unknown, keyId: string) => void errors.push(keyId),
  }
  const holds = () => Object.fromEntries(store.list().map(({ keyId, generations }) => [keyId, generations]))
  return {
    ports,
    store,
    others,
    errors,
    asked,
    rests: () => rests,
    holds,
    tidy: (stop: AbortSignal) => tidyShares(ports, stop),
  }
}

t.test('shares that the log named meanwhile are settled, and old attempts are removed', async (t) => {
  const [early, late] = [idOf('mpk', 100), idOf('mpk', 90)]
  const [named, failed, running] = [idOf('rfr', 60), idOf('rfr', 31), idOf('rfr', 1)]
  const { tidy, holds } = await party(
    t,
    { [early]: ['generated', named, failed, running], [late]: ['generated', failed] },
    [keyOf(early, named), keyOf(late, null)],
  )
  t.strictSame(await tidy(signal), { keys: 2, settled: 1, dropped: 2, waiting: 0, old: [], without: [] })
  t.strictSame(holds(), { [early]: [named, running], [late]: ['generated'] })
  t.strictSame(await tidy(signal), { keys: 2, settled: 0, dropped: 0, waiting: 0, old: [], without: [] })
})

t.test('where the share that the log names is missing, nothing is removed', async (t) => {
  const keyId = idOf('mpk', 100)
  const old = [idOf('rfr', 80), idOf('rfr', 70)]
  const { tidy, holds } = await party(t, { [keyId]: old }, [keyOf(keyId, idOf('rfr', 60))])
  t.strictSame(await tidy(signal), { keys: 1, settled: 0, dropped: 0, waiting: 0, old: [], without: [keyId] })
  t.strictSame(holds(), { [keyId]: old })
})

t.test('while another party does not hold the share that the log names, nothing is removed', async (t) => {
  const keyId = idOf('mpk', 100)
  const [named, failed] = [idOf('rfr', 60), idOf('rfr', 50)]
  const held = { [keyId]: ['generated', named, failed] }
  const { tidy, holds, others } = await party(t, held, [keyOf(keyId, named)])
  others.hold = false
  t.strictSame(await tidy(signal), { keys: 1, settled: 0, dropped: 0, waiting: 1, old: [keyId], without: [] })
  t.strictSame(holds(), held)
  others.hold = true
  t.strictSame(await tidy(signal), { keys: 1, settled: 1, dropped: 1, waiting: 0, old: [], without: [] })
  t.strictSame(holds(), { [keyId]: [named] })
})

t.test('shares of a key whose events cannot be read are kept', async (t) => {
  const [unreadable, known] = [idOf('mpk', 100), idOf('mpk', 2)]
  const held = { [unreadable]: ['generated'], [known]: ['generated'] }
  const { tidy, holds } = await party(t, held, [keyOf(known, null)], [unreadable])
  t.strictSame(await tidy(signal), { keys: 2, settled: 0, dropped: 0, waiting: 0, old: [], without: [] })
  t.strictSame(holds(), held)
})

t.test('shares of a key that was never recorded are removed after a month, if the log has later keys', async (t) => {
  const [never, recent, known, unnamed] = [idOf('mpk', 31), idOf('mpk', 29), idOf('mpk', 2), 'mpk_unlike-any']
  const generations = ['generated']
  const { tidy, holds } = await party(
    t,
    { [never]: generations, [recent]: generations, [known]: generations, [unnamed]: generations },
    [keyOf(known, null)],
  )
  t.strictSame(await tidy(signal), { keys: 4, settled: 0, dropped: 1, waiting: 0, old: [], without: [] })
  t.strictSame(holds(), { [recent]: generations, [known]: generations, [unnamed]: generations })
})

t.test('with a log that has no key, or no later one, nothing is removed', async (t) => {
  const [older, never] = [idOf('mpk', 200), idOf('mpk', 100)]
  const held = { [older]: ['generated'], [never]: ['generated'] }
  const empty = await party(t, held, [])
  t.strictSame(await empty.tidy(signal), { keys: 2, settled: 0, dropped: 0, waiting: 0, old: [], without: [] })
  t.strictSame(empty.holds(), held)
  const restored = await party(t, held, [keyOf(older, null)])
  t.strictSame(await restored.tidy(signal), { keys: 2, settled: 0, dropped: 0, waiting: 0, old: [], without: [] })
  t.strictSame(restored.holds(), held)
})

t.test('many keys are checked in steps with pauses between them, and a failed one does not end it', async (t) => {
  const ids = Array.from({ length: 120 }, () => idOf('mpk', 10))
  const [broken = ''] = ids
  const refreshId = idOf('rfr', 1)
  const { ports, asked, errors, rests, holds } = await party(
    t,
    Object.fromEntries(ids.map((id) => [id, ['generated', refreshId]])),
    ids.map((id) => keyOf(id, refreshId)),
  )
  const settle = async (keyId: string, generation: string) => {
    if (keyId === broken) throw new Error('the disk says no')
    await ports.store.settle(keyId, generation)
  }
  const tidy = (stop: AbortSignal) => tidyShares({ ...ports, store: { ...ports.store, settle } }, stop)
  t.strictSame(await tidy(signal), { keys: 120, settled: 119, dropped: 0, waiting: 0, old: [], without: [] })
  t.strictSame(asked, [50, 50, 20])
  t.equal(rests(), 3)
  t.strictSame(errors, [broken])
  t.strictSame(holds()[broken], ['generated', refreshId])
  t.strictSame(
    await tidy(AbortSignal.abort()),
    { keys: 0, settled: 0, dropped: 0, waiting: 0, old: [], without: [] },
    'an aborted run checks no key',
  )
})

t.test('the journal drops ended transactions, does not look up young ones, and keeps the rest', async (t) => {
  const directory = await temporaryDirectory(t)
  const journal = await openSigningJournal({ directory, requireOwner: async () => undefined, log: listeningLog().log })
  const entry = (transactionId: string, nonce: number) => ({ transactionId, chainId: 1, address: facts.address, nonce })
  const young = idOf('tx', 0.9)
  const old = Array.from({ length: 250 }, () => idOf('tx', 3))
  await journal.claim([young, ...old].map(entry))
  const asked: string[][] = []
  const open = new Set(old.slice(0, 10))
  const ctx = {
    journal,
    clock,
    rest: async () => undefined,
    endedForGood: async (ids: readonly string[]) => {
      asked.push([...ids])
      return ids.filter((id) => !open.has(id))
    },
  }
  t.strictSame(await forgetEnded(ctx, signal), { forgotten: 240, remembered: 11 })
  t.strictSame(
    asked.map(({ length }) => length),
    [100, 100, 50],
  )
  t.notOk(asked.flat().includes(young))
  await journal.close()
  const later = await openSigningJournal({ directory, requireOwner: async () => undefined, log: listeningLog().log })
  t.strictSame(new Set(later.transactions()), new Set([young, ...open]), 'the ended transaction is dropped for good')
  t.strictSame(await later.claim([entry('other', 0)]), [{ granted: false, reason: 'nonce_used', transactionId: young }])
  await later.close()
})
