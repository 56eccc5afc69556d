/** A bad event that is in the log already holds its own stream: every reader goes on behind it. */
import t, { type Test } from 'tap'
import { createCheckpointFile } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { createTakeCheckpoint } from '../../src/audit/checkpoints/take-checkpoint.ts'
import { setAsideCommand } from '../../src/audit/commands/set-aside-command.ts'
import { readOpenBadEvents } from '../../src/audit/found-bad.ts'
import { setAsideAggregate } from '../../src/audit/set-aside/aggregate.ts'
import { judgeEvent } from '../../src/audit/set-aside/judge-event.ts'
import { ALL_AGGREGATES, KNOWN_EVENTS, LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive, replay } from '../../src/event-log/replay.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { tagKeyAggregate } from '../../src/transactions/tag-key-aggregate.ts'
import { BAD_EVENTS, insertBad } from '../support/bad-events.ts'
import { runCommandLine } from '../support/cli.ts'
import { type FeedStage, withFeed } from '../support/feed-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-01-01T00:00:00.000Z'

/** A log with a transaction for each kind of bad event between two good ones, and what was reported of them. */
async function withBadEvents(t: Test) {
  const stage = await withFeed(t)
  const { pool, transfers } = stage
  const before = await transfers(2)
  const names = Object.keys(BAD_EVENTS)
  const held = await transfers(names.length)
  const versions = new Map<string, number>()
  for (const [n, name] of names.entries())
    versions.set(name, await insertBad(pool, `transaction-${held[n]}`, BAD_EVENTS[name] ?? {}))
  const after = await transfers(2)
  return { ...stage, names, held, versions, good: [...before, ...after] }
}

const stage = await withBadEvents(t)
const { pool, url, names, held, versions, good } = stage
const wakeUps = createWakeUps(pool, url)
t.after(() => wakeUps.close())
const streamOf = (name: string) => `transaction-${held[names.indexOf(name)]}`
/** Those that are wrong whoever reads them; the hash is checked only by those who sign and audit. */
const UNREADABLE = names.filter((name) => name !== 'a wrong hash')

t.test('a batch is loaded without the streams that cannot be read, and nothing is decided on those', async (t) => {
  const reported: string[] = []
  const settings = { pool, wakeUps, clock: Date.now, onHeld: (id: string) => void reported.push(id) }
  for (const [verifies, expected] of [
    [false, UNREADABLE],
    [true, names],
  ] as const) {
    reported.length = 0
    const log = createEventLog({ ...settings, verifies })
    const loaded = await log.loadMany(transactionAggregate, [...good, ...held])
    t.strictSame(
      loaded.filter((one) => one.held != null).map(({ id }) => `transaction-${id}`),
      expected.map(streamOf),
      `verifies: ${verifies}`,
    )
    t.strictSame(reported, expected.map(streamOf), 'each is reported')
    for (const { state, held: reason } of loaded) if (reason != null) t.match(state, { state: 'cancelled' })
    const [id = ''] = held.slice(-1)
    await t.rejects(log.load(transactionAggregate, id), { code: 'broken_chain', message: /cannot be read.*operator/ })
    const command = { type: 'RequestCancellation', now: NOW } as const
    await t.rejects(log.execute(transactionAggregate, id, command, { metadata: { tenantId: 'acme', actor: 'test' } }), {
      code: 'broken_chain',
    })
  }
})

t.test('a replay, a comparison and a rebuild go on behind them, and name the streams that are held', async (t) => {
  const tables = ['transactions', 'wallet_holds'] as const
  const expected = UNREADABLE.map((name) => [streamOf(name), versions.get(name)])
  const replayed = await replay(pool, LOG_CONTENTS, { tables })
  const named = (of: typeof replayed.held) => of.map((one) => [one.streamId, one.streamVersion])
  t.strictSame(new Map(named(replayed.held) as [string, number][]), new Map(expected as [string, number][]))
  t.equal(replayed.heldStreams, UNREADABLE.length)
  t.equal(replayed.rows.transactions, good.length + held.length)
  const { differences } = await compareLive(pool, LOG_CONTENTS, { tables })
  t.strictSame(
    differences.map(({ key }) => key),
    [{ transaction_id: held[names.indexOf('a wrong hash')] }],
    'the event with the wrong hash is the only one that a replay can read',
  )
  const statesOf = async () => (await pool.query('SELECT * FROM transactions ORDER BY transaction_id')).rows
  const rows = await statesOf()
  const rebuilt = await rebuild(pool, LOG_CONTENTS, { tables })
  t.equal(rebuilt.heldStreams, UNREADABLE.length)
  const [wrong] = held
  const but = (of: typeof rows) => of.filter(({ transaction_id: id }) => id !== wrong)
  t.strictSame(but(await statesOf()), but(rows), 'the rows of the others are what they were')
})

async function readAll({ page }: FeedStage): Promise<string[]> {
  const found: string[] = []
  for (let after = ''; ; ) {
    const one = await page(`limit=3${after}`)
    found.push(...one.events.map(({ id }) => id))
    if (!one.has_more) return found
    after = `&after=${encodeURIComponent(one.next_after ?? '')}`
  }
}

t.test('pages and streams of the feed have the events of every other stream', async (t) => {
  const found = await readAll(stage)
  for (const id of [...good, ...held])
    for (const version of [1, 3]) t.ok(found.includes(`evt_transaction-${id}.${version}`), `${id} ${version}`)
  for (const name of UNREADABLE) t.notOk(found.includes(`evt_${streamOf(name)}.${versions.get(name)}`), name)
  const { next_after: end } = await stage.page('limit=1000')
  const stream = await stage.stream(`after=${encodeURIComponent(end ?? '')}`)
  const [id = ''] = await stage.transfers(1)
  await insertBad(pool, `transaction-${id}`, BAD_EVENTS['an unknown type'] ?? {})
  const [later = ''] = await stage.transfers(1)
  t.strictSame(
    (await stream.events(4)).map((event) => event.id),
    [id, id, later, later].map((one, n) => `evt_transaction-${one}.${n % 2 === 0 ? 1 : 3}`),
  )
  stream.close()
})

t.test('the auditor adds them to the tree, signs, and reports each once', async (t) => {
  const reported: string[] = []
  const take = () =>
    createTakeCheckpoint({
      pool,
      signer: stage.signer,
      file: createCheckpointFile(stage.checkpointFile),
      clock: Date.now,
      growing: { known: KNOWN_EVENTS, onBad: ({ streamId }) => void reported.push(streamId) },
    })()
  const { size, isNew } = await take()
  t.ok(isNew)
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events')
  t.equal(size, Number(rows[0]?.n), 'every event is a leaf')
  const structural = names.filter((name) => name !== 'data that cannot be read').map(streamOf)
  t.strictSame(new Set(reported), new Set([...structural, ...reported.slice(-1)]))
  t.equal(reported.length, structural.length + 1)
  await stage.transfers(1)
  t.ok((await take()).isNew, 'it goes on')
  t.equal(reported.length, structural.length + 1, 'nothing is reported twice')
  t.equal((await readOpenBadEvents(pool)).count, structural.length + 1)
})

t.test('a verification reports all of them', async (t) => {
  const { code, out } = await stage.verify('--json')
  t.equal(code, 1)
  const report = JSON.parse(out)
  for (const name of names)
    t.ok(
      report.findings.some(
        (one: { stream_id: string; stream_version: number }) =>
          one.stream_id === streamOf(name) && one.stream_version === versions.get(name),
      ),
      name,
    )
  t.equal(report.problems, report.findings.length)
  t.equal(report.finding.stream_id, streamOf('a wrong hash'), 'the first is still the finding')
  t.match((await stage.verify('--json --threads 2')).out, new RegExp(`"problems": ?${report.problems}\\b`))
})

t.test('an operator sets bad events aside: never a good one, and each only once', async (t) => {
  const by = createEventLog({ pool, wakeUps, clock: Date.now })
  const command = setAsideCommand((task) =>
    task({ log: by, judgeEvent: (name) => judgeEvent(pool, ALL_AGGREGATES, name) }),
  )
  const setAside = (id: string, reason = '--reason incident') =>
    runCommandLine([command], `audit set-aside ${id} ${reason}`)
  t.match(await setAside(`evt_transaction-${good[0]}.1`), { code: 1, err: /is what was appended.*cannot be set aside/ })
  t.match(await setAside(`evt_transaction-${good[0]}.9`), { code: 2, err: /has no event/ })
  t.match(await setAside(`evt_transaction-${good[0]}.1`, ''), { code: 2, err: /--reason must be/ })
  for (const name of names) {
    const id = `evt_${streamOf(name)}.${versions.get(name)}`
    t.match(await setAside(id), { code: 0, out: /is set aside.*stays held: nothing is signed/s }, name)
    t.match(await setAside(id), { code: 1, err: /was set aside already/ }, name)
  }
  const { rows } = await pool.query(
    "SELECT type, data FROM events WHERE stream_id = 'setaside-main' ORDER BY stream_version",
  )
  t.equal(rows.length, names.length, 'each is an event')
  t.match(rows[0], { type: 'EventSetAside', data: { streamId: streamOf('a wrong hash'), reason: 'incident' } })

  for (const verifies of [false, true]) {
    const log = createEventLog({ pool, wakeUps, clock: Date.now, verifies })
    const loaded = await log.loadMany(transactionAggregate, held)
    t.ok(
      loaded.every((one) => one.held?.includes('set aside')),
      `verifies: ${verifies}: nothing is added to them`,
    )
    t.ok(loaded.every(({ state }) => state.state === 'cancelled'))
    for (const { broken } of await log.loadChecked(transactionAggregate, held))
      t.ok(broken, 'nothing is signed for them')
  }
  const tables = ['transactions', 'wallet_holds'] as const
  await rebuild(pool, LOG_CONTENTS, { tables })
  matchExactly(t, await compareLive(pool, LOG_CONTENTS, { tables }), { differences: [], heldStreams: 1 })
  const report = JSON.parse((await stage.verify('--json')).out)
  t.equal(report.problems, 1, 'one was not set aside')
  t.equal(report.set_aside.length, 2, 'those with a wrong hash or version are listed')
  t.equal((await readOpenBadEvents(pool)).count, 1)
})

t.test('a stream in which nothing is signed goes on behind an event that was set aside', async (t) => {
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  const context = { metadata: { tenantId: 'acme', actor: 'test' } }
  const key = { type: 'Adopt', now: NOW } as const
  await log.execute(tagKeyAggregate, 'main', { ...key, fingerprints: ['one'] }, context)
  const forged = await insertBad(pool, 'tagkey-main', { type: 'TagKeyAdopted', schemaVersion: 99 })
  await t.rejects(log.load(tagKeyAggregate, 'main'), { code: 'broken_chain' })
  const name = { streamId: 'tagkey-main', streamVersion: forged }
  const { hash, problem, stream: outcome } = await judgeEvent(pool, ALL_AGGREGATES, name)
  t.equal(outcome, 'goes_on')
  const listed = { ...name, hash, problem, reason: 'incident', by: 'operator', setAsideAt: NOW }
  await log.execute(setAsideAggregate, 'main', { type: 'SetAside', ...listed }, context)
  t.match(await log.load(tagKeyAggregate, 'main'), { version: forged, state: { fingerprint: 'one' } })
  await log.execute(tagKeyAggregate, 'main', { ...key, fingerprints: ['two', 'one'] }, context)
  for (const verifies of [false, true]) {
    const reader = createEventLog({ pool, wakeUps, clock: Date.now, verifies })
    t.match(await reader.load(tagKeyAggregate, 'main'), { version: forged + 1, state: { fingerprint: 'two' } })
  }
})

t.test('a forged list hides no good event', async (t) => {
  const [id = ''] = await stage.transfers(1)
  const { rows } = await pool.query<{ hash: string }>(
    "SELECT encode(hash, 'hex') AS hash FROM events WHERE stream_id = $1 AND stream_version = 3",
    [`transaction-${id}`],
  )
  await insertBad(pool, 'setaside-main', {
    type: 'EventSetAside',
    data: { streamId: `transaction-${id}`, streamVersion: 3, hash: rows[0]?.hash },
  })
  for (const verifies of [false, true]) {
    const log = createEventLog({ pool, wakeUps, clock: Date.now, verifies })
    t.match(await log.load(transactionAggregate, id), { version: 3, state: { state: 'cancelled' } })
  }
})

t.test('an event that was removed is named by its stream', async (t) => {
  const [first = '', inner = ''] = good
  await stage.tamper(
    `DELETE FROM events WHERE stream_id = 'transaction-${first}' AND stream_version = 1`,
    `DELETE FROM events WHERE stream_id = 'transaction-${inner}' AND stream_version = 2`,
  )
  const removed = JSON.parse((await stage.verify('--json')).out).findings.filter(
    ({ kind }: { kind: string }) => kind === 'removed',
  )
  matchExactly(t, removed, [
    { stream_id: `transaction-${first}`, stream_version: 2, message: /version 1 missing/ },
    { stream_id: `transaction-${inner}`, stream_version: 3, message: /version 2 missing/ },
  ])
})

t.end()
