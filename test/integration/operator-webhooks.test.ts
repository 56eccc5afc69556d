/** What `webhooks` and `stuck` show of webhooks, on a real database. */
import t from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import { holdLease, withOperator } from '../support/operator-stage.ts'

/** A webhook whose receiver answers 500, with one delivery that waits; the log has an event of it and one after it. */
const WEBHOOK = [
  `INSERT INTO webhooks SELECT 'whk_1', 'acme', 'mainnet', 'https://example.com/hook', NULL, NULL, NULL, 'full', '["v1"]', NULL, '[]',
     'enabled', NULL, now() - interval '2 hours', now() - interval '2 hours', 1`,
  `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part,
     attempts, due_at, created_at, attempt_list)
   SELECT 'dlv_' || n, 'whk_1', 'acme', 'evt_wallet-wal_1.' || n, 'wallet.created', 'wallet-wal_1', '1', n, 0, 2 - n,
     now() + interval '1 minute' * (3 - 2 * n), now() - interval '1 hour',
     CASE WHEN n = 1 THEN jsonb_build_array(jsonb_build_object('at', now(), 'status', 500, 'error', NULL)) ELSE '[]' END
     FROM generate_series(1, 2) AS n`,
  `INSERT INTO webhook_health (webhook_id, failing_since, gaps) VALUES ('whk_1', now() - interval '1 hour', 2)`,
  `INSERT INTO heartbeats VALUES ('webhook-sender', 'h:2', now() + interval '1 hour')`,
]
/** Replays: complete, running, not begun for a week, and that again long ago. */
const REPLAYS = [
  `INSERT INTO webhook_replays SELECT 'rpl_' || n, 'whk_1', 'acme', 'mainnet', NULL, NULL, NULL, NULL, false,
     now() - interval '1 day' * (ARRAY[30, 20, 8, 14])[n], n FROM generate_series(1, 4) AS n`,
  `INSERT INTO webhook_replay_progress VALUES ('rpl_1', '5', 1, 7, now()), ('rpl_2', '5', 1, 9, NULL)`,
]
const TABLES = ['webhooks', 'webhook_deliveries', 'webhook_health', 'webhook_replays', 'webhook_replay_progress']
const NO_WEBHOOK = TABLES.map((table) => `DELETE FROM ${table}`)

t.test('webhooks lists webhooks with what waits, and stuck what is wrong with them', async (t) => {
  const { pool, run } = await withOperator(t)
  t.strictSame(await run('webhooks'), { code: 0, out: 'no webhooks\n', err: '' })
  for (const sql of WEBHOOK) await pool.query(sql)
  await holdLease(pool, 'webhooks', 3_600_000)
  const json = await run('webhooks --json')
  const { webhooks, findings } = JSON.parse(json.out)
  matchExactly(t, webhooks, [
    {
      webhook_id: 'whk_1',
      tenant_id: 'acme',
      state: 'enabled',
      waiting: 2,
      gaps: 2,
      last_status: 500,
      last_error: null,
    },
  ])
  matchExactly(
    t,
    [json.code, findings],
    [1, [{ kind: 'webhook_failing', subject: 'whk_1', problem: /answered with 500/ }]],
  )
  t.match((await run('webhooks')).out, /^whk_1 +acme +mainnet +failing for 1 h 0 min +2 +1 h 0 min +2 +never +https:/m)
  matchExactly(t, JSON.parse((await run('stuck --json')).out).findings, [{ kind: 'webhook_failing' }])

  await pool.query('UPDATE webhook_health SET failing_since = NULL')
  t.strictSame(JSON.parse((await run('stuck --json')).out).findings, [], 'the second one waits for the first')
  await pool.query(`UPDATE webhook_deliveries SET due_at = now() - interval '1 minute'`)
  matchExactly(t, JSON.parse((await run('stuck --json')).out).findings, [{ kind: 'webhook_not_sent', for_ms: Number }])
  await pool.query(`UPDATE webhook_deliveries SET state = 'delivered'`)
  for (const sql of REPLAYS) await pool.query(sql)
  const given = JSON.parse((await run('webhooks --json')).out)
  matchExactly(t, given.replays, [
    { replay_id: 'rpl_2', webhook_id: 'whk_1', state: 'running', queued: 9 },
    { replay_id: 'rpl_3', state: 'expired', queued: 0 },
  ])
  matchExactly(t, given.findings, [{ kind: 'webhook_replay_expired', subject: 'rpl_3' }])
  t.match((await run('webhooks')).out, /^rpl_2 +whk_1 +running +9 +20 d 0 h ago +\d+ ms ago$/m)
  await pool.query(`UPDATE webhook_replay_progress SET advanced_at = now() - interval '1 hour'`)
  matchExactly(t, JSON.parse((await run('stuck --json')).out).findings, [
    { kind: 'webhook_replay_stopped', subject: 'rpl_2' },
    { kind: 'webhook_replay_expired', subject: 'rpl_3' },
  ])
  await pool.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'requested'`)
  matchExactly(t, JSON.parse((await run('webhooks --json')).out).replays, [
    { state: 'waits_until_enabled' },
    { state: 'expired' },
  ])
  await pool.query(`UPDATE webhook_deliveries SET state = 'pending'`)
  await pool.query(`UPDATE webhooks SET status = 'deleted'`)
  t.strictSame(await run('webhooks'), { code: 0, out: 'no webhooks\n', err: '' }, 'a deleted webhook waits for nothing')
  t.strictSame((await run('stuck')).out, 'nothing is stuck\n')
  for (const sql of NO_WEBHOOK) await pool.query(sql)
  t.strictSame((await run('stuck')).out, 'nothing is stuck\n')
})
