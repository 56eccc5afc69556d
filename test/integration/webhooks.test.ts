/** Webhooks over HTTP: what is created and changed, what is refused, and secrets that are returned once. */

import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { InvalidSetting } from '../../src/core/errors.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { findDueLines, readOldestPending } from '../../src/webhooks/due-webhooks.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { told } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { makeWallet } from '../support/wallet-parts.ts'
import { as, HOOK, keysOf, type WebhookStage, withWebhooks } from '../support/webhook-stage.ts'

const UNKNOWN = '/whk_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const BODY = JSON.stringify({ id: 'evt_wallet-wal_1.1' })

/** Whether the library of Standard Webhooks verifies with each secret what a sender signs now. */
async function verifiedBy(stage: WebhookStage, webhookId: string, secrets: readonly string[], now?: number) {
  const headers = signDelivery(
    await keysOf(stage, now)({ webhookId, version: 1 }),
    'evt_wallet-wal_1.1',
    Date.now(),
    BODY,
  )
  return secrets.map((secret) => {
    try {
      new Webhook(secret).verify(BODY, headers)
      return true
    } catch {
      return false
    }
  })
}

t.test('a webhook is created, listed, read, changed, disabled, enabled and deleted', async (t) => {
  const stage = await withWebhooks(t)
  const walletId = await makeWallet(stage)
  const { secret, warnings, ...created } = await stage.create({
    description: 'Ledger',
    types: ['wallet.created', 'transaction.confirmed'],
    wallet_ids: [walletId],
    signatures: ['v1', 'v1a'],
  })
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.match(created.public_key, /^whpk_[A-Za-z0-9+/]{43}=$/)
  t.strictSame(warnings, [])
  t.match(created, { status: 'enabled', payload: 'full', environment: 'mainnet', gaps: 0, oldest_undelivered_at: null })
  const path = `/${created.webhook_id}`
  t.strictSame((await stage.get(path)).body.data, created)
  const other = await stage.create()
  matchExactly(t, other, { types: null, wallet_ids: null, description: null, public_key: null, signatures: ['v1'] })
  const page = await stage.get('?limit=1')
  matchExactly(t, page.body.data, { webhooks: [{ webhook_id: other.webhook_id }], has_more: true })
  const next = await stage.get(`?limit=1&cursor=${page.body.data?.next_cursor}`)
  t.strictSame(next.body.data?.webhooks, [created])

  const changed = await stage.patch(path, { url: 'https://EXAMPLE.com:8443/new#x', types: null, payload: 'thin' })
  matchExactly(t, changed.body.data, {
    url: 'https://example.com:8443/new',
    types: null,
    wallet_ids: [walletId],
    payload: 'thin',
  })
  const again = await stage.patch(path, { payload: 'thin' })
  t.strictSame(again.body.data, changed.body.data, 'a change that changes nothing is not recorded')

  t.match((await stage.post(`${path}/disable`)).body.data, { status: 'disabled', disabled_reason: 'requested' })
  t.strictSame((await stage.get('?status=disabled')).body.data?.webhooks, [(await stage.get(path)).body.data])
  t.match((await stage.post(`${path}/enable`)).body.data, { status: 'enabled', disabled_reason: null })
  await stage.pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
     VALUES ('dlv_1', $1, 'acme', 'evt_a.1', 'x', 'a', '5', 1, 0, now(), now())`,
    [created.webhook_id],
  )
  const waiting = async () => [
    (await findDueLines(stage.pool, new Date())).length,
    (await readOldestPending(stage.pool, Date.now() + 60_000)) > 0,
  ]
  t.strictSame(await waiting(), [1, true])
  const deleted = await stage.remove(path)
  t.match(deleted.body.data, { status: 'deleted', oldest_undelivered_at: null })
  t.strictSame(await waiting(), [0, false], 'what waited for a deleted webhook is neither sent nor counted')
  t.strictSame((await stage.remove(path)).body.data, deleted.body.data)
  for (const answer of [
    await stage.get(path),
    await stage.patch(path, { payload: 'full' }),
    await stage.post(`${path}/enable`),
  ])
    t.strictSame([answer.status, ...told(answer)], [404, '- webhook_not_found'])
  matchExactly(t, (await stage.get('')).body.data, { webhooks: [{ webhook_id: other.webhook_id }], has_more: false })
  t.strictSame((await compareLive(stage.pool, LOG_CONTENTS)).differences, [])
})

t.test('a secret is returned once, and only the sender can open what is kept of it', async (t) => {
  const stage = await withWebhooks(t)
  const key = { 'idempotency-key': 'one' }
  const first = await stage.post('', { url: HOOK }, key)
  const repeated = await stage.post('', { url: HOOK }, key)
  const { webhook_id, secret } = first.body.data as { webhook_id: string; secret: string }
  t.equal(repeated.status, 201)
  t.equal(repeated.headers['idempotency-replayed'], 'true')
  matchExactly(t, repeated.body.data, {
    webhook_id,
    secret: null,
    warnings: [{ code: 'secret_already_returned', field: 'secret' }],
  })
  t.strictSame(await verifiedBy(stage, webhook_id, [secret]), [true])
  const { rows } = await stage.pool.query<{ all: string }>(
    `SELECT (SELECT json_agg(e)::text FROM events AS e) || (SELECT json_agg(w)::text FROM webhooks AS w)
         || (SELECT json_agg(s)::text FROM webhook_secrets AS s) AS all`,
  )
  t.notOk(rows[0]?.all.includes(secret.slice(6, 40)), 'neither the log nor a table has the secret')
  const reused = await stage.post('', { url: `${HOOK}/2` }, key)
  t.strictSame([reused.status, ...told(reused)], [422, '- idempotency_key_reused'])
})

t.test(
  'after a rotation both secrets sign until the overlap ends, and after an immediate one only the new one',
  async (t) => {
    const stage = await withWebhooks(t)
    const { webhook_id: id, secret: old } = await stage.create({ signatures: ['v1', 'v1a'] })
    const rotate = async (overlap_hours: number, headers = {}) =>
      (await stage.post(`/${id}/rotate-secret`, { overlap_hours }, headers)).body.data as {
        secret: string
        overlap_ends_at: string
      }
    const key = { 'idempotency-key': 'rotate' }
    const { secret: young, overlap_ends_at } = await rotate(1, key)
    t.match(await rotate(1, key), { secret: null, overlap_ends_at }, 'a repeated request rotates nothing')
    t.strictSame(await verifiedBy(stage, id, [old, young]), [true, true])
    t.equal((await keysOf(stage)({ webhookId: id, version: 1 })).ed25519.length, 2)
    t.strictSame(await verifiedBy(stage, id, [old, young], Date.parse(overlap_ends_at)), [false, true])
    await rotate(168)
    t.equal((await keysOf(stage)({ webhookId: id, version: 1 })).secrets.length, 3)
    t.equal(
      (await keysOf(stage, Date.parse(overlap_ends_at))({ webhookId: id, version: 1 })).secrets.length,
      2,
      'the oldest keeps its end',
    )
    await rotate(168)
    const fifth = await stage.post(`/${id}/rotate-secret`, {})
    t.strictSame([fifth.status, ...told(fifth)], [409, '- too_many_secrets'])
    const { secret: last, overlap_ends_at: none } = await rotate(0)
    t.equal(none, null)
    t.strictSame(await verifiedBy(stage, id, [old, young, last]), [false, false, true])
  },
)

t.test('a secret that was sealed for a rotation that was never recorded does not sign', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id, secret } = await stage.create()
  await stage.pool.query(
    `INSERT INTO webhook_secrets SELECT 'whs_lost', webhook_id, sealed, now() FROM webhook_secrets WHERE webhook_id = $1`,
    [id],
  )
  t.equal((await keysOf(stage)({ webhookId: id, version: 1 })).secrets.length, 1)
  t.strictSame(await verifiedBy(stage, id, [secret]), [true])
})

t.test('bad input is refused with the field, the rule and what to do', async (t) => {
  const stage = await withWebhooks(t)
  const theirs = await makeWallet(stage, {}, { tenantId: 'globex', actor: 'test' })
  const ours = await makeWallet(stage)
  const refusals: readonly (readonly [object, ...string[]])[] = [
    [{}, 'url required'],
    [{ url: 'https://user:pass@example.com/' }, 'url url_has_credentials'],
    ...[
      'localhost',
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '①②⑦.0.0.1',
      '[::1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
    ].map((host) => [{ url: `https://${host}/` }, 'url url_not_public'] as const),
    [{ url: 'https://example.com:25/' }, 'url url_port_refused'],
    [{ url: 'http://example.com/' }, 'url url_not_https'],
    [{ url: `https://example.com/${'x'.repeat(2_048)}` }, 'url too_long'],
    [{ url: 'example.com' }, 'url invalid_url'],
    [{ url: HOOK, types: ['transaction.confirmd', 'wallet.created'] }, 'types[0] unknown_event_type'],
    [{ url: HOOK, types: [] }, 'types too_few'],
    [{ url: HOOK, types: ['wallet.created', 'wallet.created'] }, 'types duplicate'],
    [{ url: HOOK, wallet_ids: ['wal_1'] }, 'wallet_ids[0] invalid_id'],
    [{ url: HOOK, wallet_ids: [theirs] }, 'wallet_ids[0] wallet_not_found'],
    [
      { url: HOOK, types: ['webhook.test', 'wallet.created', 'api_key.issued', 'nft.mint.minted'], wallet_ids: [ours] },
      'types[2] type_without_wallet',
      'types[3] type_without_wallet',
    ],
    [{ url: HOOK, payload: 'fat' }, 'payload not_allowed'],
    [{ url: HOOK, signatures: ['v1a'] }, 'signatures invalid_signatures'],
    [{ url: HOOK, signatures: ['v2'] }, 'signatures[0] not_allowed'],
    [{ url: HOOK, secret: 'whsec_mine' }, 'secret unknown_field'],
  ]
  for (const [body, ...expected] of refusals) {
    const answer = await stage.post('', body)
    t.strictSame([answer.status, ...told(answer)], [422, ...expected], JSON.stringify(body).slice(0, 100))
  }
  const misspelt = await stage.post('', { url: HOOK, types: ['transaction.confirmd'] })
  t.match(misspelt.body.errors?.[0]?.message, /did you mean transaction\.confirmed\?/)
  const { webhook_id: id } = await stage.create({ url: 'https://bücher.example/' })
  t.match((await stage.get(`/${id}`)).body.data, { url: 'https://xn--bcher-kva.example/' }, 'IDN is in punycode')
  for (const [body, expected] of [
    [{}, '- too_few'],
    [{ url: 'https://10.0.0.1/' }, 'url url_not_public'],
    [{ signatures: ['v1'] }, 'signatures unknown_field'],
  ] as const) {
    const answer = await stage.patch(`/${id}`, body)
    t.strictSame([answer.status, ...told(answer)], [422, expected])
  }
  const hours = await stage.post(`/${id}/rotate-secret`, { overlap_hours: 169 })
  t.strictSame([hours.status, ...told(hours)], [422, 'overlap_hours too_large'])
  t.equal((await stage.get('/whk_1')).status, 404)
})

t.test('nobody learns of the webhooks of another tenant or environment', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  for (const key of ['cold', 'testnet'] as const) {
    const answers = [
      await stage.get(`/${id}`, undefined, as(key)),
      await stage.patch(`/${id}`, { payload: 'thin' }, as(key)),
      await stage.remove(`/${id}`, undefined, as(key)),
      ...(await Promise.all(
        [
          'enable',
          'disable',
          'rotate-secret',
          'test',
          'replay',
          'deliveries/dlv_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11/retry',
        ].map((verb) => stage.post(`/${id}/${verb}`, undefined, as(key))),
      )),
      ...(await Promise.all(
        ['deliveries', 'replays', 'replays/rpl_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'].map((path) =>
          stage.get(`/${id}/${path}`, undefined, as(key)),
        ),
      )),
    ]
    for (const answer of answers) t.strictSame([answer.status, ...told(answer)], [404, '- webhook_not_found'])
    matchExactly(t, (await stage.get('', undefined, as(key))).body.data, { webhooks: [] })
  }
  t.match((await stage.get(`/${id}`)).body.data, { status: 'enabled', payload: 'full' })
  t.equal((await stage.get(UNKNOWN)).status, 404)
})

t.test('without a recipient of the senders no secret can be made', async (t) => {
  const stage = await withWebhooks(t, { WEBHOOK_RECIPIENT: '' })
  const answer = await stage.post('', { url: HOOK })
  t.strictSame([answer.status, ...told(answer)], [503, '- webhooks_not_configured'])
  matchExactly(t, (await stage.get('')).body.data, { webhooks: [] })
  await t.rejects(withWebhooks(t, { WEBHOOK_RECIPIENT: `age1${'q'.repeat(58)}` }), InvalidSetting)
})

t.test('http and other networks only where the operator allows them', async (t) => {
  const stage = await withWebhooks(t, { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' })
  t.equal((await stage.post('', { url: 'http://localhost:4000/hook' })).status, 201)
  const answer = await stage.post('', { url: 'http://10.0.0.1:4000/' })
  t.strictSame([answer.status, ...told(answer)], [422, 'url url_not_public'])
})
