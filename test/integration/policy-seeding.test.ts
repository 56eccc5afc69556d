/** What was spent before a shadow counts in its counters: once, whoever is killed, and never less than what the log has. */
import fc from 'fast-check'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { LimitReached, PolicyChanged } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { seedCounters } from '../../src/policies/seed-counters.ts'
import { poolUntilEnd } from '../support/database-login.ts'
import { NATIVE } from '../support/log.ts'
import { pastOf, policyOf, withPast } from '../support/policy-past.ts'
import { seeBlock } from '../support/spending.ts'

const DAY = 86_400
const HOUR = 3_600
const FEE = 42_000n
const TABLES = ['spend_buckets', 'policies', 'policy_versions'] as const
const RUN = new AbortController().signal
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()
const limitOf = (amount: string, window_seconds = DAY, id = 'cap') =>
  policyOf([{ id, effect: 'limit', limit: { asset_id: NATIVE.assetId, amount, window_seconds } }])
const perRecipient = policyOf([
  { id: 'cap', effect: 'limit', limit: { count: 9, window_seconds: DAY, per: 'recipient' } },
])
const cap = limitOf('1')

t.test('requests before the shadow count, as far as the window reaches, and later ones count themselves', async (t) => {
  const past = await withPast(t)
  await past.transfer({ amount: 100n, requestedAt: ago(3 * DAY) })
  await past.transfer({ amount: 200n, requestedAt: ago(HOUR) })
  await past.shadow(cap)
  t.notOk(await past.isSeeded())
  await past.transfer({ amount: 400n }, await past.inForce())
  t.equal(await past.seed(RUN), 1)
  t.ok(await past.isSeeded())
  const counters = await past.spent()
  t.strictSame(Object.values(counters), [`${600n + 2n * FEE}`])
  t.equal(await past.seed(RUN), 0, 'nothing is left')
  t.strictSame((await compareLive(past.pool, LOG_CONTENTS, { tables: TABLES })).differences, [])
  await rebuild(past.pool, LOG_CONTENTS, { tables: ['spend_buckets'] })
  t.strictSame(await past.spent(), counters)
})

t.test('a shadow of the same limits adds nothing again, but what was missed between two of them', async (t) => {
  const past = await withPast(t)
  await past.transfer({ amount: 100n })
  const first = await past.shadow(cap)
  await past.seed(RUN)
  await past.transfer({ amount: 10n }, await past.inForce())
  await past.endShadow(first)
  await past.transfer({ amount: 1n })
  await past.shadow(limitOf('9', DAY, 'other'))
  await past.seed(RUN)
  t.strictSame(
    Object.values(await past.spent()),
    [`${111n + 3n * FEE}`],
    'the amount and the id of a limit are not what it counts',
  )
})

t.test('what ended unsent counts nothing, and what a reorg can bring back counts all', async (t) => {
  const past = await withPast(t)
  const now = new Date().toISOString()
  const ids = [
    await past.transfer({ amount: 100n }),
    await past.transfer({ amount: 10n }),
    await past.transfer({ amount: 1n }),
  ] as const
  await past.change(ids[0], { type: 'FailUnsigned', code: 'expired', message: 'late', now })
  await past.change(ids[1], { type: 'RequestCancellation', now })
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce: 0, hash: '0x0', rawTransaction: '0x02', fees, signedAt: now }
  await past.change(ids[2], { type: 'RecordSignature', signed })
  const block = { blockNumber: 1, blockHash: '0xb', blockTimestamp: now, minedAt: now }
  const inclusion = { hash: '0x0', succeeded: false, ...block, gasUsed: 21_000n, effectiveGasPrice: 2n, logs: null }
  await past.change(ids[2], { type: 'RecordInclusion', inclusion })
  await past.change(ids[2], { type: 'Settle', confirmations: 2, revertReason: 'why', now })
  await past.shadow(cap)
  await past.seed(RUN)
  const seeded = Object.values(await past.spent())
  t.strictSame(seeded, [`${1n + FEE}`])
  await past.change(ids[2], { type: 'RecordReorg', head: 9, now })
  t.strictSame(Object.values(await past.spent()), seeded, 'its outcome is revoked: it counted already')
})

t.test(
  'more sums than memory may hold, a run that is killed at each append, and two at once add all once',
  async (t) => {
    const past = await withPast(t)
    const recipients = Array.from({ length: 40 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`)
    for (const to of [...recipients, ...recipients]) await past.transfer({ to })
    await past.shadow(perRecipient)
    let kills = 0
    for (let at = 1; !(await past.isSeeded()); at += 1) {
      let appends = 0
      const dying = {
        ...past.log,
        commit: createCommit(async (commit) => {
          appends += 1
          if (appends === at) throw new Error('killed')
          await past.log.append(commit)
        }),
        execute: async () => Promise.reject(new Error('killed')),
      }
      kills += await seedCounters({ ...past.ports, log: dying, mostSums: 7 }, RUN).then(
        () => 0,
        () => 1,
      )
      if (at === 4) await Promise.allSettled([past.seedWith(7)(RUN), past.seedWith(7)(RUN)])
    }
    t.equal(kills, 4)
    t.strictSame(new Set(Object.values(await past.spent())), new Set(['2']))
    t.equal(Object.keys(await past.spent()).length, recipients.length)
  },
)

t.test(
  'after the publication no interval of the window has more than the limit, while 12 connections send',
  async (t) => {
    const seed = Date.now()
    t.comment(`seed ${seed}`)
    const past = await withPast(t)
    const most = 4n * 10n ** 18n
    const rules = limitOf('4', HOUR)
    const random = fc.sample(fc.integer({ min: 0, max: 2 * HOUR }), { numRuns: 4_000, seed })
    let sent = 0
    type Sent = { readonly at: number; readonly amount: bigint; readonly isBound: boolean }
    const accepted: Sent[] = []
    const send = async (from: ReturnType<typeof pastOf>): Promise<boolean> => {
      const seconds = random[sent % random.length] ?? 0
      sent += 1
      const requestedAt = ago(seconds)
      const amount = BigInt(1 + (sent % 9)) * 10n ** 15n
      for (;;) {
        const inForce = await from.inForce()
        try {
          await from.transfer({ amount, requestedAt }, inForce)
          accepted.push({ at: Date.parse(requestedAt), amount: amount + FEE, isBound: inForce.active !== null })
          return true
        } catch (error) {
          if (error instanceof LimitReached) return false
          if (!(error instanceof PolicyChanged)) throw error
        }
      }
    }
    for (let n = 0; n < 30; n += 1) await send(past)
    await seeBlock(past.pool, new Date(Date.now() + DAY * 1_000).toISOString())
    const lines = Array.from({ length: 12 }, () => {
      const pool = poolUntilEnd(t, { connectionString: past.url, max: 2 })
      return pastOf({ pool, log: createEventLog({ pool, wakeUps: past.wakeUps, clock: Date.now }) })
    })
    let isOver = false
    let refused = 0
    const sending = lines.map(async (line) => {
      while (!isOver) if (!(await send(line))) refused += 1
    })
    const until = async (holds: () => boolean) => {
      while (!holds()) await new Promise((resolve) => setImmediate(resolve))
    }
    const version = await past.shadow(rules)
    await until(() => accepted.length > 100)
    while (!(await past.isSeeded())) await past.seed(RUN)
    await until(() => accepted.length > 200)
    await past.publish(version, rules)
    await until(() => refused >= 100)
    isOver = true
    await Promise.all(sending)
    const bound = accepted.filter(({ isBound }) => isBound)
    t.comment(`${accepted.length} accepted, ${bound.length} of them by the limit, ${refused} refused`)
    t.ok(bound.length > 0 && bound.length < accepted.length)
    // Every interval that begins or ends with a request, and has one that the limit let through.
    const broken = accepted.flatMap(({ at }) =>
      [at, at - HOUR * 1_000].flatMap((from) => {
        const within = accepted.filter((one) => one.at >= from && one.at <= from + HOUR * 1_000)
        const sum = within.reduce((total, { amount }) => total + amount, 0n)
        return sum > most && within.some(({ isBound }) => isBound) ? [`${sum} from ${from}`] : []
      }),
    )
    t.strictSame(broken, [])
    t.strictSame((await compareLive(past.pool, LOG_CONTENTS, { tables: ['spend_buckets'] })).differences, [])
  },
)
