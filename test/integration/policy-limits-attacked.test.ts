/** Limits and versions of policies, attacked: a request that is under way when a tenant first has a policy, and what a shadow can write. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import { readPast } from '../../src/policies/read-past.ts'
import { runBacktest } from '../../src/policies/run-backtest.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { openTransaction } from '../../src/transactions/prepare-transaction.ts'
import { newTransactionId, transferIntent } from '../support/log.ts'
import { MULTICALL3, USDC } from '../support/policies.ts'
import { OWNER, policyOf, withPast } from '../support/policy-past.ts'
import { capOf, payment, publish, spentIn, startProcess, withPayer } from '../support/policy-processes.ts'
import { METADATA, NOW } from '../support/raw-append.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const ETHER = 10n ** 18n
const ABI = new Interface(['function transfer(address,uint256)', 'function aggregate3(tuple(address,bool,bytes)[])'])
const addressOf = (n: number) => `0x${(n + 1).toString(16).padStart(40, '0')}`
/** A call that is as long as callers may make it. */
const MANY = ABI.encodeFunctionData('aggregate3', [
  Array.from({ length: 1_000 }, (_, n) => [
    USDC.contract,
    true,
    ABI.encodeFunctionData('transfer', [addressOf(n), 1n]),
  ]),
])

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
  const { decision, guards } = openTransaction(kernel.newId, 'TransferRequested', intent, METADATA)
  await log.append({ decisions: [decision], guards }).catch(() => undefined)
  t.equal(await spentIn(pool), 5n * ETHER)
  await t.rejects(pay({ amount: 1n }), { code: 'policy_limit' })
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: ['spend_buckets'] })).differences, [])
})

t.test('calls of many transfers are read in turns with what else the process does, and counted', async (t) => {
  const past = await withPast(t)
  const call = { to: MULTICALL3, data: MANY, requestedAt: new Date().toISOString() }
  for (let n = 0; n < 100; n += 1) {
    const intent = { ...transferIntent(call), subject: null }
    const command = { type: 'RequestTransaction', opening: 'ContractCallRequested', intent } as const
    await past.log.append({
      decisions: [decideNew(transactionAggregate, newTransactionId(), command, { metadata: METADATA, now: NOW })],
    })
  }
  let [parts, requests] = [0, 0]
  for await (const { steps, read } of readPast(past.ports, OWNER, { fromMs: 0, toMs: null, isGapless: false })) {
    requests += steps.length
    if (steps.length > 0 && read === 0) parts += 1
  }
  t.equal(requests, 100)
  t.ok(parts > 1, 'one page is given in parts')
  const rules = [{ id: 'few', effect: 'limit', limit: { count: 9, window_seconds: 3_600, per: 'recipient' } }] as const
  const policy = compilePolicy(policyOf(rules), 1)
  const { isCut } = await runBacktest(
    past.ports,
    OWNER,
    policy,
    { fromMs: null, toMs: null },
    (_events, counted) => counted < 64,
  )
  t.ok(isCut, 'who tests knows what memory it takes')
})

t.test('a policy has few limits per recipient: each call has a counter of each for all of its recipients', (t) => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `r${n}`,
      effect: 'limit' as const,
      limit: { count: 9, window_seconds: 3_600 + 60 * n, per: 'recipient' as const },
    }))
  t.equal(policyOf(many(16)).rules.length, 16)
  t.throws(() => policyOf(many(17)), /at most 16 limits per recipient/)
  t.end()
})
