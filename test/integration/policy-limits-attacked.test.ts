/** Limits and versions of policies, attacked: a request that is under way when a tenant first has a policy, and what a shadow can write. */
import t from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { openTransaction } from '../../src/transactions/prepare-transaction.ts'
import { capOf, payment, publish, spentIn, startProcess, withPayer } from '../support/policy-processes.ts'
import { METADATA } from '../support/raw-append.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const ETHER = 10n ** 18n

t.test(
  'a request that is being recorded while its tenant publishes a first policy is judged by it, or recorded before it',
  async (t) => {
    const { url, pool, log } = await withPayer(t)
    const { pay } = await startProcess(t, url)
    await pay()
    const waiting = async () =>
      (await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"))
        .rowCount ?? 0
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM wallet_holds FOR UPDATE')
    const paid = pay().then(
      (id) => id,
      () => null,
    )
    await eventually(async () => (await waiting()) > 0 || null)
    let isPublished = false
    const published = publish(log, { default: 'deny', rules: [] }).then((version) => {
      isPublished = true
      return version
    })
    await eventually(async () => isPublished || (await waiting()) > 1 || null)
    await holder.query('ROLLBACK')
    holder.release()
    await paid
    t.equal(await published, 1)
    const { rows } = await pool.query(
      `SELECT e.stream_id FROM events e JOIN events p ON p.type = 'PolicyPublished' AND p.position < e.position
      WHERE e.type = 'TransferRequested' AND e.data->'policy' IS NULL`,
    )
    t.strictSame(rows, [], 'nothing that no version has judged is recorded behind the version')
  },
)

t.test('what a shadow counts at a time that is ahead makes no limit forget what was spent', async (t) => {
  const { url, pool, log } = await withPayer(t)
  const version = await publish(log, capOf('5'))
  const { pay, kernel } = await startProcess(t, url)
  await pay({ amount: 5n * ETHER })
  const before = (await pool.query('SELECT counter, bucket FROM spend_buckets')).rows
  t.equal(before.length, 1)
  const reservation = {
    counter: before[0].counter as string,
    unit: 'ETH',
    decimals: 18,
    bucket: '2099-01-01T00:00:00.000Z',
    windowSeconds: 3_600,
    limit: 5n * ETHER,
    amount: 0n,
    kept: 0n,
    rule: 'cap',
    mustFit: false as const,
  }
  const intent = payment(log.now(), {
    amount: 1n,
    policy: { version, tags: ['hot'], prices: [] },
    reservations: [reservation],
  })
  const { change, guards } = openTransaction(kernel.newId, 'TransferRequested', intent, METADATA)
  await log.append({ changes: [change], guards }).catch(() => undefined)
  t.equal(await spentIn(pool), 5n * ETHER)
  await t.rejects(pay({ amount: 1n }), { code: 'policy_limit' })
  t.strictSame((await compareLive(pool, ALL_AGGREGATES, { tables: ['spend_buckets'] })).differences, [])
})
