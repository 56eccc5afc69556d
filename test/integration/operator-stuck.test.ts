/** Findings on a real database: each kind of problem that the database shows is created. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { Conflict, Unavailable } from '../../src/core/errors.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { hashOf, holdLease, type OperatorStage, signature, withOperator } from '../support/operator-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const GWEI = 1_000_000_000n

/** Changes to the tables of a healthy service, undone afterwards. */
const TROUBLES: readonly (readonly [what: string, make: string, undo: string, told: string])[] = [
  [
    'a process that fell silent',
    `UPDATE heartbeats SET beat_at = now() - interval '1 minute' WHERE process = 'submitter'`,
    `UPDATE heartbeats SET beat_at = now() + interval '1 hour'`,
    'process_missing submitter',
  ],
  [
    'a party that stopped',
    `DELETE FROM heartbeats WHERE process = 'mpc-party-1'`,
    `INSERT INTO heartbeats VALUES ('mpc-party-1', 'h:1', now() + interval '1 hour')`,
    'mpc_party_down mpc-party-1',
  ],
  [
    'one of two signers that fell silent',
    `INSERT INTO heartbeats VALUES ('signer', 'other:9', now() - interval '1 minute')`,
    `DELETE FROM heartbeats WHERE instance = 'other:9'`,
    'process_silent signer other:9',
  ],
  [
    'a sweeper that nobody leads',
    `UPDATE leases SET expires_at = now() - interval '1 minute' WHERE name = 'sweeper'`,
    `UPDATE leases SET expires_at = now() + interval '1 hour' WHERE name = 'sweeper'`,
    'nobody_leads sweeper',
  ],
  [
    'a follower that hears no node',
    `UPDATE chain_cursors SET updated_at = now() - interval '2 minutes'`,
    `UPDATE chain_cursors SET updated_at = now() + interval '1 hour'`,
    'follower_halted ethereum',
  ],
  [
    'a follower that does not move',
    `INSERT INTO chain_stalls VALUES (${TEST_CHAIN}, 'block 101 names another parent', now() - interval '1 minute')`,
    'DELETE FROM chain_stalls',
    'follower_halted ethereum',
  ],
  [
    'a follower that is far behind',
    'UPDATE chain_cursors SET number = 70',
    'UPDATE chain_cursors SET number = 100',
    'follower_behind ethereum',
  ],
  [
    'a banned party',
    `INSERT INTO mpc_keys VALUES ('mpk_1', 'wal_9', 'acme', '0x', '0x', 2, 3, 0, NULL, '[2]', NULL, now(), NULL, 1)`,
    'DELETE FROM mpc_keys',
    'mpc_party_banned wal_9',
  ],
  [
    'a token that cannot be read',
    `INSERT INTO unread_tokens VALUES (1000001, '0x5FbDB2315678afecb367f032d93F642f64180aa3', now() - interval '1 hour', 'gas', 3, now(), now(), 2)`,
    'DELETE FROM unread_tokens',
    'token_unreadable ethereum 0x5FbDB2315678afecb367f032d93F642f64180aa3',
  ],
  [
    'a party that another accuses',
    `INSERT INTO mpc_keys VALUES
       ('mpk_1', 'wal_9', 'acme', '0x', '0x', 2, 3, 0, NULL, '[]', NULL, now(), NULL, 1, '[{"party": 2, "accused_by": 1}]')`,
    'DELETE FROM mpc_keys',
    'mpc_party_accused wal_9',
  ],
  [
    'a wallet without its key',
    `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, label, status, created_at, version)
     VALUES ('wal_8', 'acme', 'hd', 'ethereum', 'mainnet', 1, '', 'requested', now() - interval '1 minute', 1)`,
    `DELETE FROM wallets WHERE wallet_id = 'wal_8'`,
    'work_waiting wallets',
  ],
  [
    'metadata that IPFS did not take',
    `INSERT INTO nft_pins VALUES ('bafy1', NULL, now() + interval '4 minutes')`,
    'DELETE FROM nft_pins',
    'metadata_unpinned IPFS',
  ],
]

t.test('stuck prints what is wrong, and nothing else, and what to do', async (t) => {
  const stage = await withOperator(t)
  const { pool, run } = stage
  const found = async () => {
    const { code, out } = await run('stuck --json')
    const { findings } = JSON.parse(out) as {
      findings: { kind: string; subject: string; next: { run: string | null }[] }[]
    }
    return { code, findings, told: findings.map(({ kind, subject }) => `${kind} ${subject}`) }
  }

  await t.test('a healthy service', async (t) => {
    t.strictSame(await run('stuck'), { code: 0, out: 'nothing is stuck\n', err: '' })
    t.strictSame(JSON.parse((await run('stuck --json')).out), { stuck: false, findings: [] })
  })

  for (const [what, make, undo, told] of TROUBLES) {
    await t.test(what, async (t) => {
      await pool.query(make)
      const { code, told: all, findings } = await found()
      t.strictSame([code, all], [1, [told]])
      t.ok(findings[0]?.next.length)
      await pool.query(undo)
      t.strictSame((await found()).told, [], 'a finding that ended is not reported')
    })
  }

  await outages(t, stage, found)
  await signing(t, stage, found)
  await mining(t, stage, found)
})

type Found = () => Promise<{ readonly code: number; readonly told: readonly string[] }>

async function outages(t: Test, stage: OperatorStage, found: Found): Promise<void> {
  const { pool, node, run, jobs } = stage

  await t.test('events without a reader are found', async (t) => {
    const wallet = await stage.wallet()
    stage.age = 60_000
    const id = await stage.request(wallet)
    await stage.execute(id, { type: 'RequestCancellation', now: stage.log.now() })
    stage.age = 0
    await pool.query(`INSERT INTO checkpoints VALUES ('dispatcher', '0', 0, now())`)
    t.strictSame((await found()).told, ['subscription_behind dispatcher'])
    await pool.query(
      'UPDATE checkpoints SET transaction_id = pg_current_xact_id(), position = (SELECT max(position) FROM events)',
    )
    t.strictSame((await found()).told, [])
  })

  await t.test('jobs that were given up', async (t) => {
    const refuse = () => Promise.reject(new Conflict('not_today', 'Not today.'))
    const worker = jobs.process('wallet', refuse, { concurrency: 1 })
    await jobs.add([{ queue: 'wallet', id: 'wal_7', data: {} }])
    await eventually(async () => (await jobs.counts()).wallet.failed === 1)
    await worker.close()
    matchExactly(t, await found(), { code: 1, told: ['failed_jobs queue wallet'] })
    const { code, out } = await run('queues')
    t.equal(code, 1)
    t.match(out, /wal_7 .* Not today\.[\s\S]*npm run jobs -- retry wallet --all/)
    await jobs.retryAll('wallet')
    t.strictSame((await found()).told, [])
    const { backend, queues } = JSON.parse((await run('queues --json')).out)
    t.equal(backend, 'PostgreSQL')
    matchExactly(t, queues.slice(0, 4), [
      { queue: 'wallet', waiting: 1, oldest: { id: 'wal_7', state: 'waiting' } },
      { queue: 'mpc-wallet' },
      { queue: 'lane', oldest: null },
      { queue: 'mpc-lane' },
    ])
    t.equal(queues.length, Object.keys(await jobs.counts()).length, 'every queue is shown')
  })

  await t.test('an unavailable dependency is reported, with the findings that do not need it', async (t) => {
    node.up = false
    matchExactly(t, await found(), { code: 3, told: ['node_down ethereum'] })
    t.match(await run('lanes'), { code: 3, out: 'no lane has work in progress\n', err: /No node of ethereum answers/ })
    const dead = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 })
    t.teardown(() => dead.end())
    const parts = { pool: dead, log: stage.logOn(dead) }
    const { code, out, err } = await stage.runWith(parts, 'stuck --json')
    t.strictSame(
      [code, JSON.parse(out).findings.map(({ kind }: { kind: string }) => kind)],
      [3, ['database_down', 'node_down']],
    )
    t.match(err, /The database does not answer/)
    for (const line of ['lanes', `explain 0x${'ab'.repeat(32)}`])
      t.match(await stage.runWith(parts, line), { code: 3, out: '', err: /^The database does not answer: .*\n$/ })
    const queueless = { ...jobs, counts: () => Promise.reject(new Unavailable('queue_unavailable', 'No answer.')) }
    node.up = true
    t.match(await stage.runWith({ jobs: queueless }, 'stuck'), { code: 3, out: /queue_down/ })
    t.match(await stage.runWith({ jobs: queueless }, 'queues'), { code: 3, out: '', err: 'No answer.\n' })
  })
}

/** Backdates the work by a minute. */
async function old(stage: OperatorStage, work: () => Promise<unknown>): Promise<void> {
  stage.age = 60_000
  await work()
  stage.age = 0
}

async function kindsOf(found: Found, address: string): Promise<(string | undefined)[]> {
  return (await found()).told.filter((told) => told.endsWith(address)).map((told) => told.split(' ')[0])
}

async function signing(t: Test, stage: OperatorStage, found: Found): Promise<void> {
  const { pool, node, run, execute, log } = stage

  await t.test('unsigned requests are found: without a holder, with one that hangs, with one that died', async (t) => {
    const wallet = await stage.wallet()
    await old(stage, () => stage.request(wallet))
    t.strictSame(await kindsOf(found, wallet.address), ['lane_without_holder'])
    const partition = wallet.address.charAt(2).toLowerCase()
    // That of another kind of key, and of another partition: neither is about this lane.
    await holdLease(pool, `sign-mpc-${partition}`, 600_000)
    await holdLease(pool, `sign-${partition === '0' ? '1' : '0'}`, 600_000)
    t.strictSame(await kindsOf(found, wallet.address), ['lane_without_holder'])
    await holdLease(pool, `sign-${partition}`, 600_000)
    const lane = JSON.parse((await run(`lane ethereum ${wallet.address} --json`)).out)
    t.match(lane.leases, { sign: { name: `sign-${partition}` }, submit: null })
    t.strictSame(await kindsOf(found, wallet.address), ['lane_not_signing'])
    await pool.query(`UPDATE leases SET expires_at = now() - interval '1 minute' WHERE name = 'sign-' || $1`, [
      partition,
    ])
    t.strictSame(await kindsOf(found, wallet.address), ['lane_without_holder', 'lease_expired'])
    node.baseFee = 600n * GWEI
    t.ok((await found()).told.includes('fee_over_cap ethereum'))
    t.notOk((await kindsOf(found, wallet.address)).includes('lane_without_holder'))
    node.baseFee = GWEI
  })

  await t.test('a transaction that waits for another one is not a finding itself', async (t) => {
    const wallet = await stage.wallet()
    await old(stage, async () => {
      const first = await stage.request(wallet)
      await stage.request(wallet, { dependsOn: first })
      await execute(first, signature(first, 0, 20n * GWEI, log.now()))
    })
    t.strictSame(await kindsOf(found, wallet.address), ['not_sent'])
    const { out } = await run(`lane ethereum ${wallet.address} --json`)
    t.match(JSON.parse(out), {
      lane: { waiting: 1, dependent: 1, signed: 1, next_nonce: 1, wallet_id: wallet.walletId },
    })
  })
}

async function mining(t: Test, stage: OperatorStage, found: Found): Promise<void> {
  const { node, run, execute, log } = stage

  await t.test(
    'transactions that are not mined are found, with the reason, and unfulfilled cancellations',
    async (t) => {
      const wallet = await stage.wallet()
      let id = ''
      await old(stage, async () => {
        id = await stage.request(wallet)
        await execute(id, signature(id, 3, 20n * GWEI, log.now()))
        await execute(id, { type: 'RecordSubmission', hash: hashOf(id, 3), now: log.now() })
      })
      node.nonces.set(wallet.address, 3)
      t.strictSame(await kindsOf(found, wallet.address), ['not_mined'])
      node.baseFee = 21n * GWEI
      t.strictSame(await kindsOf(found, wallet.address), ['fee_under_base'])
      const lane = await run(`lane ethereum ${wallet.address.toUpperCase().replace('0X', '0x')}`)
      t.equal(lane.code, 1)
      t.match(lane.out, /20 gwei, under the base fee/)
      node.baseFee = GWEI
      node.nonces.set(wallet.address, 4)
      t.strictSame(await kindsOf(found, wallet.address), ['nonce_taken', 'not_mined'])
      node.nonces.set(wallet.address, 2)
      t.ok((await kindsOf(found, wallet.address)).includes('nonce_gap'))
      node.nonces.set(wallet.address, 3)
      await old(stage, () => execute(id, { type: 'RequestSpeedUp', gasPriority: 'high', now: log.now() }))
      t.ok((await kindsOf(found, wallet.address)).includes('wish_not_done'))
      await execute(id, { type: 'RecordShortFunds', hash: hashOf(id, 3), now: log.now() })
      t.ok((await kindsOf(found, wallet.address)).includes('awaiting_funds'))
    },
  )

  await t.test('a transaction that is deep enough and not final is found', async (t) => {
    const wallet = await stage.wallet()
    await old(stage, async () => {
      const id = await stage.request(wallet)
      await execute(id, signature(id, 0, 20n * GWEI, log.now()))
      await execute(id, { type: 'RecordInclusion', inclusion: inclusion(id, 50, log.now()) })
    })
    t.ok((await found()).told.includes('not_settled ethereum'))
  })
}

function inclusion(id: string, blockNumber: number, now: string) {
  return {
    hash: hashOf(id, 0),
    blockNumber,
    blockHash: `0xb${blockNumber}`,
    succeeded: true,
    logs: null,
    gasUsed: 21_000n,
    effectiveGasPrice: 2n,
    blockTimestamp: now,
    minedAt: now,
  }
}
