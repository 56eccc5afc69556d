/** Policies in the append: limits are exact whoever races, each request is judged by one version, and no process can leave that out. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { PolicyRefused } from '../../src/core/errors.ts'
import { PolicyChanged } from '../../src/event-log/append.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { openTransaction } from '../../src/transactions/prepare-transaction.ts'
import { loginAs } from '../support/database-login.ts'
import {
  capOf,
  openedBy,
  payment,
  policyDecision,
  publish,
  shadow,
  spentIn,
  startProcess,
  startProcesses,
  withPayer,
} from '../support/policy-processes.ts'
import { append, METADATA, NOW, REFUSED, sent } from '../support/raw-append.ts'

const ETHER = 10n ** 18n
const TABLES = ['transactions', 'wallet_holds', 'spend_buckets', 'policies', 'policy_versions'] as const

t.test('twelve processes that race for the room of a rule spend exactly its limit', async (t) => {
  const { url, pool, log } = await withPayer(t)
  await publish(log, capOf('500'))
  const processes = await startProcesses(t, url, 12)
  const tried = await Promise.allSettled(
    processes.flatMap(({ pay }) => Array.from({ length: 100 }, () => pay({ amount: ETHER }))),
  )
  const refused = tried.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  for (const error of refused) if (!(error instanceof PolicyRefused)) throw error
  t.equal(tried.length - refused.length, 500)
  t.equal(refused.length, 700)
  t.match(refused[0], {
    code: 'policy_limit',
    details: {
      rule: 'cap',
      version: 1,
      limit: '500',
      left: '0',
      needed: '1',
      unit: 'ETH',
      window_seconds: 3_600,
      available_at: /Z$/,
    },
  })
  t.equal(await spentIn(pool), 500n * ETHER)
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: TABLES })).differences, [])
  await rebuild(pool, LOG_CONTENTS, { tables: ['spend_buckets'] })
  t.equal(await spentIn(pool), 500n * ETHER)
})

t.test(
  'a policy is published amid requests of twelve processes: each is judged by one version, which its event names',
  async (t) => {
    const { url, pool, log } = await withPayer(t)
    const deny = (recipient: string) => ({
      default: 'allow' as const,
      rules: [{ id: 'no', effect: 'deny' as const, match: { recipients: { in: [recipient] } } }],
    })
    const [even, odd] = [
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    ] as const
    // Version n denies one of the two.
    t.equal(await publish(log, deny(odd)), 1)
    const processes = await startProcesses(t, url, 12)
    const versions: number[] = []
    const requests = processes.map(async ({ pay }, n) => {
      const answers: (readonly [to: string, id: string | null, version: number | null])[] = []
      for (let count = 0; count < 84; count += 1) {
        const to = (n + count) % 2 === 0 ? even : odd
        answers.push(
          await pay({ to }).then(
            (id) => [to, id, null] as const,
            (error: unknown) => {
              if (!(error instanceof PolicyRefused)) throw error
              return [to, null, error.details.version as number] as const
            },
          ),
        )
      }
      return answers
    })
    for (let n = 0; n < 6; n += 1) versions.push(await publish(log, deny(n % 2 === 0 ? even : odd)))
    t.strictSame(versions, [2, 3, 4, 5, 6, 7], 'requests never keep a publication waiting for ever')
    const answers = (await Promise.all(requests)).flat()
    t.equal(answers.length, 1_008)
    const opened = await openedBy(pool)
    const denied = (version: number) => (version % 2 === 0 ? even : odd)
    const accepted = answers.filter(([, id]) => id !== null)
    for (const [to, id] of accepted) {
      const version = opened.get(id ?? '')?.version ?? 0
      if (denied(version) === to) t.fail(`version ${version} denies ${id}`)
    }
    for (const [to, , version] of answers)
      if (version !== null && denied(version) !== to) t.fail(`version ${version} does not deny ${to}`)
    t.equal(accepted.length, opened.size)
    const { rows } = await pool.query(
      `SELECT e.position, (e.data->>'policy')::jsonb->>'version' AS named,
            (SELECT (p.data->>'version') FROM events p WHERE p.type = 'PolicyPublished' AND p.position < e.position ORDER BY p.position DESC LIMIT 1) AS newest
       FROM events e WHERE e.stream_version = 1 AND e.stream_id LIKE 'transaction-%'`,
    )
    t.equal(rows.length, opened.size)
    t.strictSame(
      rows.filter(({ named, newest }) => named !== newest),
      [],
      'the newest version before it, by position',
    )
    t.ok(new Set(rows.map(({ named }) => named)).size > 1, 'several versions judged')
  },
)

t.test(
  'a request that names another version, no version, other tags or a shadow that ended is refused by the append',
  async (t) => {
    const { url, pool, log } = await withPayer(t)
    const { pay, kernel, parts } = await startProcess(t, url)
    const first = await pay()
    t.equal((await openedBy(pool)).get(first), null, 'without a policy nothing is named')
    await publish(log, capOf('5'))
    parts.policies.inForce.forget({ tenantId: 'acme', environment: 'mainnet' })
    await pay({ amount: ETHER })
    const lying = (policy?: object) => {
      const intent = payment(log.now(), policy === undefined ? {} : { policy: policy as never })
      const { decision, guards } = openTransaction(kernel.newId, 'TransferRequested', intent, METADATA)
      return log.append({ decisions: [decision], guards })
    }
    const right = { version: 1, tags: ['hot'], prices: [] }
    for (const lie of [
      undefined,
      { ...right, version: 2 },
      { ...right, version: 0 },
      { ...right, shadow: 1 },
      { ...right, tags: [] },
      { ...right, tags: ['hot', 'cold'] },
      { version: 1 },
    ])
      await t.rejects(lying(lie), PolicyChanged, JSON.stringify(lie))
    await t.rejects(lying({ ...right, version: '1.5' }), { code: '22P02' }, 'no version at all')
    await t.resolves(lying(right))
    const before = (await openedBy(pool)).size
    await shadow(log, capOf('3'))
    await t.rejects(lying(right), PolicyChanged, 'the shadow is left out')
    t.equal((await openedBy(pool)).size, before)
    await t.resolves(pay({ amount: ETHER }), 'it is decided again with what is in force')
    await pool.query("UPDATE wallets SET tags = '{cold}' WHERE wallet_id = 'wal_1'")
    await t.resolves(pay({ amount: ETHER }), 'and with the tags that the wallet has')
    t.strictSame(
      (
        await pool.query(
          "SELECT (data->>'policy')::jsonb->'tags' AS tags FROM events WHERE type = 'TransferRequested' ORDER BY position DESC LIMIT 1",
        )
      ).rows,
      [{ tags: ['cold'] }],
    )
  },
)

t.test(
  'a request in the batch of a publication is judged again, and by position comes behind what judged it',
  async (t) => {
    const { url, pool, log } = await withPayer(t)
    await publish(log, capOf('500'))
    const { kernel, parts, pay } = await startProcess(t, url)
    const intent = payment(kernel.log.now())
    const metadata = { tenantId: 'acme', actor: 'apikey:key_1' }
    const opened = await Promise.all(
      [1, 2].map(async () => {
        const judged = await parts.policies.judge.transaction('TransferRequested', intent, metadata)
        return openTransaction(kernel.newId, 'TransferRequested', { ...intent, ...judged }, metadata)
      }),
    )
    const publication = await policyDecision(log, capOf('400'))
    // The first one goes out alone, the others collect behind it.
    const first = pay()
    const [before, change, after] = await Promise.allSettled([
      kernel.log.append({ decisions: [opened[0]?.decision ?? publication] }),
      kernel.log.append({ decisions: [publication] }),
      kernel.log.append({ decisions: [opened[1]?.decision ?? publication] }),
    ])
    await first
    t.equal(change.status, 'fulfilled')
    t.ok(after.status === 'rejected' && after.reason instanceof PolicyChanged)
    t.ok(before.status === 'fulfilled' || before.reason instanceof PolicyChanged)
    const { rows } = await pool.query<{ type: string; named: string | null; version: string | null }>(
      `SELECT type, data->'policy'->>'version' AS named, data->>'version' AS version FROM events
      WHERE type IN ('PolicyPublished', 'TransferRequested') ORDER BY position`,
    )
    let active: string | null = null
    for (const row of rows) {
      if (row.type === 'PolicyPublished') active = row.version
      else t.equal(row.named, active)
    }
  },
)

t.test('a metric counts requests that are judged again', async (t) => {
  const { url, log } = await withPayer(t)
  const { pay, kernel } = await startProcess(t, url)
  const rejudged = async () => {
    const text = await kernel.metrics.registry.getSingleMetricAsString('bursar_policy_rejudged_total')
    return Number(/^bursar_policy_rejudged_total\{.*\} (\d+)$/m.exec(text)?.[1])
  }
  await publish(log, capOf('5'))
  await pay()
  t.equal(await rejudged(), 0)
  // What is in force is known for a while only: it may have been read again by then.
  for (let amount = 6; (await rejudged()) === 0; amount += 1) {
    await publish(log, capOf(String(amount)))
    await pay()
  }
  t.equal(await rejudged(), 1)
})

t.test('what fails gives back what it reserved, and a revoked settlement takes it again', async (t) => {
  const { url, pool, log } = await withPayer(t)
  await publish(log, capOf('5'))
  await shadow(log, {
    default: 'deny',
    rules: [{ id: 'two', effect: 'limit', limit: { count: 1, window_seconds: 7_200 } }],
  })
  const { pay } = await startProcess(t, url)
  const step = (id: string, command: TransactionCommand) =>
    log.execute(transactionAggregate, id, command, { metadata: METADATA })
  const [failed, reverted] = [await pay({ amount: ETHER }), await pay({ amount: ETHER })]
  t.equal(await spentIn(pool), 2n * ETHER + 2n, 'a shadow counts what it would refuse')
  await step(failed, { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW })
  t.equal(await spentIn(pool), ETHER + 1n)
  const fees = { gasLimit: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  await step(reverted, {
    type: 'RecordSignature',
    signed: { nonce: 1, hash: '0x1', rawTransaction: '0x02', fees, signedAt: NOW },
  })
  const block = {
    blockNumber: 1,
    blockHash: '0xb',
    blockTimestamp: NOW,
    minedAt: NOW,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    logs: null,
  }
  await step(reverted, { type: 'RecordInclusion', inclusion: { hash: '0x1', succeeded: false, ...block } })
  await step(reverted, { type: 'Settle', confirmations: 2, revertReason: 'why', now: NOW })
  t.equal(await spentIn(pool), 1n, 'a transaction that was in a block is one')
  await step(reverted, { type: 'RecordReorg', head: 9, now: NOW })
  t.equal(await spentIn(pool), ETHER + 1n)
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: TABLES })).differences, [])
})

t.test('no login changes what is in force or what was counted, except by an append of its own events', async (t) => {
  const { url, pool, log } = await withPayer(t)
  await publish(log, capOf('5'))
  await (await startProcess(t, url)).pay({ amount: ETHER })
  const own = sent({ decisions: [await policyDecision(log, { default: 'allow', rules: [] })] })
  for (const role of DATABASE_ROLES) {
    const login = await loginAs(t, { url, pool }, role)
    for (const text of [
      'UPDATE policies SET active_version = 0',
      'DELETE FROM policies',
      "UPDATE policy_versions SET policy = '{}'",
      'DELETE FROM policy_versions',
      'SELECT FROM policies FOR SHARE',
      'UPDATE spend_buckets SET spent = 0',
      'DELETE FROM spend_buckets',
    ])
      await t.rejects(login.query(text), REFUSED, `${role}: ${text}`)
    const forged = { ...own, events: [] }
    await t.rejects(append(login, forged), REFUSED, `${role}: a row without its event`)
    if (role !== 'api') await t.rejects(append(login, own), REFUSED, `${role}: a policy`)
  }
  t.equal(await spentIn(pool), ETHER)
  const { rows } = await pool.query('SELECT active_version FROM policies')
  t.strictSame(rows, [{ active_version: 1 }])
})
