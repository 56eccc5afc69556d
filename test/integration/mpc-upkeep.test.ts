/** Automatic tasks for joint keys: scheduled refreshes and bans; and how parties read them. */
import t, { type Test } from 'tap'
import { type BursarError, Unavailable } from '../../src/core/errors.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { mpcKeyAggregate } from '../../src/mpc-wallets/aggregate.ts'
import { createJointKeysOf } from '../../src/mpc-wallets/joint-keys.ts'
import type { Accusation } from '../../src/mpc-wallets/record-accusation.ts'
import { refreshWorn } from '../../src/mpc-wallets/refresh-worn.ts'
import { scheduleRefreshes } from '../../src/mpc-wallets/schedule-refreshes.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  ALL_ALIVE,
  accusationsOn,
  beatAs,
  jointKey,
  type MpcParts,
  makeMpcWallet,
  newId,
  signerOn,
  TERMS,
  withMpcKeys,
} from '../support/mpc-log-side.ts'
import { ACME, anotherLog } from '../support/wallet-parts.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

async function codeOf(promise: Promise<unknown> | undefined): Promise<string> {
  return Promise.resolve(promise).then(
    () => 'accepted',
    (error: BursarError) => error.items[0]?.code ?? 'none',
  )
}

t.test(
  'old shares of wallets are refreshed before their age limit, spread over days, a few at once',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const { pool, log } = parts
    await parts.generateKey(newId('mpcKey'), TERMS)
    const wallets = []
    for (let n = 0; n < 20; n += 1) wallets.push(await makeMpcWallet(parts))
    await parts.generateKey(newId('mpcKey'), TERMS)
    let day = 0
    const later = { ...log, now: () => new Date(Date.now() + day * DAY_MS).toISOString() }
    const scheduled = () => scheduleRefreshes({ pool, log: later, newId }, 30)
    const { refreshShares } = signerOn(later, pool, parts.parties)
    const counts: number[] = []
    for (; day < 31; day += 1) {
      await beatAs(pool, ALL_ALIVE)
      let ofDay = 0
      for (;;) {
        const requested = await scheduled()
        t.ok(requested <= 8, 'at most 8 refreshes start at once')
        if (requested === 0) break
        ofDay += requested
        t.ok((await scheduled()) <= 8 - requested, 'pending refreshes count towards the limit')
        for (const { key_id } of await openOnes(pool)) await refreshShares(key_id)
      }
      counts.push(ofDay)
    }
    t.comment(`refreshes by day: ${counts.join(' ')}`)
    t.strictSame(
      counts.slice(0, 24).filter((count) => count > 0),
      [],
      'no refresh starts in the first 24 days',
    )
    const { rows } = await pool.query(
      'SELECT epoch, wallet_id IS NULL AS pooled, count(*)::int AS n FROM mpc_keys GROUP BY 1, 2',
    )
    t.strictSame(
      rows.toSorted((a, b) => a.n - b.n),
      [
        { epoch: 0, pooled: true, n: 1 },
        { epoch: 1, pooled: false, n: 20 },
      ],
      'each wallet is refreshed once, and no pooled key is',
    )
    t.ok(counts.filter((count) => count > 0).length >= 3, 'the refreshes are spread over at least 3 days')
    const reasons = await pool.query('SELECT DISTINCT reason FROM mpc_refreshes')
    t.strictSame(reasons.rows, [{ reason: 'scheduled' }])
  },
)

async function openOnes(pool: MpcParts['pool']): Promise<readonly { readonly key_id: string }[]> {
  return (await pool.query<{ key_id: string }>(`SELECT key_id FROM mpc_refreshes WHERE status = 'pending'`)).rows
}

t.test(
  'no refresh is scheduled while a party is down, and one that failed is not tried again at once',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const { pool, log } = parts
    const { keyId } = await makeMpcWallet(parts)
    let hours = 31 * 24
    const later = { ...log, now: () => new Date(Date.now() + hours * HOUR_MS).toISOString() }
    const scheduled = () => scheduleRefreshes({ pool, log: later, newId }, 30)
    await beatAs(pool, ['mpc-party-2'], 60)
    t.equal(await scheduled(), 0)
    await beatAs(pool, ALL_ALIVE)
    t.equal(await scheduled(), 1)
    t.equal(await scheduled(), 0)
    parts.parties.onStep = () => {
      throw new Unavailable('mpc_parties_unavailable', 'party 3 does not answer')
    }
    await signerOn(log, pool, parts.parties, () => Date.now() + 32 * DAY_MS).refreshShares(keyId)
    t.strictSame(await openOnes(pool), [])
    hours += 5
    t.equal(await scheduled(), 0)
    hours += 2
    t.equal(await scheduled(), 1)
  },
)

t.test('shares used for a long time are refreshed, once an hour at most', async (t: Test) => {
  const parts = await withMpcKeys(t)
  const { pool, log } = parts
  const { keyId } = await makeMpcWallet(parts)
  let minutes = 0
  const later = { ...log, now: () => new Date(Date.now() + minutes * 60_000).toISOString() }
  const told: string[] = []
  const logger = { info: (fields: object) => void told.push((fields as { readonly key_id: string }).key_id) }
  const ctx = { log: later, newId, logger }
  await Promise.all([refreshWorn(ctx, keyId), refreshWorn(ctx, keyId)])
  t.strictSame(told, [keyId])
  t.equal((await openOnes(pool)).length, 1)
  await parts.refreshShares(keyId)
  minutes = 59
  await refreshWorn(ctx, keyId)
  t.strictSame(await openOnes(pool), [], 'no second refresh starts within an hour')
  minutes = 61
  await refreshWorn(ctx, keyId)
  t.equal((await openOnes(pool)).length, 1)
})

t.test(
  'each accusation is recorded once, two of them ban a party, and a late report of an old epoch changes nothing',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const wallet = await makeMpcWallet(parts)
    const { keyId } = wallet
    // A set: recorders that report the same in the same millisecond append the same event, and each is told.
    const told = new Set<string>()
    const recorders = [0, 1, 2].map(() => accusationsOn(anotherLog(parts), (what) => void told.add(what)))
    const ban: Accusation = { keyId, epoch: 0, party: 2, accusedBy: 1, reason: 'its commitment does not open' }
    await Promise.all(recorders.map((record) => record(ban)))
    t.strictSame([...told], ['epoch 0: 1 accused'])
    matchExactly(t, await jointKey(parts, keyId), { banned: [], apart: [[1, 2]] })
    await Promise.all(recorders.map((record) => record({ ...ban, accusedBy: 3 })))
    t.strictSame([...told], ['epoch 0: 1 accused', 'epoch 0: 3 accused', 'epoch 0: 3 banned'])
    t.strictSame((await jointKey(parts, keyId)).banned, [2])
    const history = await parts.log.readStream(mpcKeyAggregate, keyId)
    t.equal(history.filter(({ type }) => type === 'MpcPartyAccused').length, 2, 'each is recorded once')
    const recorded = history.at(-1)
    t.match(recorded, { type: 'MpcPartyBanned', metadata: { tenantId: 'acme' }, data: { party: 2, epoch: 0 } })

    await parts.requestRefresh(wallet, null, { metadata: ACME })
    await parts.refreshShares(keyId)
    await recorders[0]?.(ban)
    matchExactly(t, await jointKey(parts, keyId), { banned: [], apart: [] })
    await recorders[0]?.({ ...ban, epoch: 1 })
    matchExactly(t, await jointKey(parts, keyId), { banned: [], apart: [[1, 2]] })
    t.equal(told.size, 4)
    t.strictSame(
      [
        await codeOf(recorders[0]?.({ ...ban, party: 9 }) ?? Promise.resolve()),
        await codeOf(recorders[0]?.({ ...ban, keyId: 'mpk_x' }) ?? Promise.resolve()),
      ],
      ['not_allowed', 'mpc_key_not_found'],
    )
  },
)

t.test(
  'joint keys are read by one query, by two where something is new, and never from an epoch that is over',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    const wallets = [await makeMpcWallet(parts), await makeMpcWallet(parts), await makeMpcWallet(parts)]
    const ids = wallets.map(({ keyId }) => keyId)
    let queries = 0
    const counting: Pick<EventLog, 'heads' | 'loadChecked'> = {
      heads: (...given) => {
        queries += 1
        return parts.log.heads(...given)
      },
      loadChecked: (...given) => {
        queries += 1
        return parts.log.loadChecked(...given)
      },
    }
    const jointKeysOf = createJointKeysOf(counting)
    const queriesFor = async (act: () => Promise<unknown>) => {
      const before = queries
      await act()
      return queries - before
    }
    t.equal(await queriesFor(() => jointKeysOf([...ids, ...ids, 'mpk_nobody'])), 2)
    t.equal(await queriesFor(() => jointKeysOf(ids)), 1)
    t.strictSame([...(await jointKeysOf([...ids, 'mpk_nobody'])).keys()].toSorted(), ids.toSorted())
    const [first] = wallets
    if (first === undefined) throw new Error('no wallet exists')
    await parts.requestRefresh(first, null, { metadata: ACME })
    await parts.refreshShares(first.keyId)
    let read: ReadonlyMap<string, JointKey> = new Map()
    const reading = async () => {
      read = await jointKeysOf(ids)
    }
    t.equal(await queriesFor(reading), 2)
    t.strictSame(
      ids.map((id) => read.get(id)?.epoch),
      [1, 0, 0],
    )
    t.equal(await queriesFor(() => jointKeysOf(ids)), 1)
  },
)
