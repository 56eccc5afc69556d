/** Tags of wallets over HTTP: who may set them, and that they are those of the log. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { KEYS } from '../support/http.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { CREATE, dataOf, WATCH, withWalletApi } from '../support/wallet-api.ts'
import { runSigner } from '../support/wallet-parts.ts'

const POLICIES = { authorization: `Bearer ${KEYS.policies}` }

t.test('a key that may write policies tags wallets, when they are created and later', async (t) => {
  const { post, patch, get, parts } = await withWalletApi(t)
  await runSigner(t, parts)
  const made = await post('/v1/wallets/create', { ...CREATE, tags: ['payroll', 'hot', 'hot'] }, POLICIES)
  t.match(made, { status: 201 })
  t.strictSame(dataOf(made).tags, ['hot', 'payroll'])
  const url = `/v1/wallets/${dataOf(made).wallet_id}`
  t.strictSame(dataOf(await patch(url, { tags: ['cold 🧊'] }, POLICIES)).tags, ['cold 🧊'])
  t.strictSame(dataOf(await patch(url, { label: 'Other' })).tags, ['cold 🧊'], 'another field leaves them')
  t.strictSame(dataOf(await patch(url, { tags: [] }, POLICIES)).tags, [])
  const watched = dataOf(await post('/v1/wallets/watch', WATCH)).wallet_id
  t.strictSame(dataOf(await patch(`/v1/wallets/${watched}`, { tags: ['partner'] }, POLICIES)).tags, ['partner'])
  t.strictSame(dataOf(await get(`/v1/wallets/${watched}`)).tags, ['partner'])
  const { rows } = await parts.pool.query('SELECT stream_version, type FROM events WHERE stream_id = $1 ORDER BY 1', [
    `wallet-${dataOf(made).wallet_id}`,
  ])
  matchExactly(t, rows.slice(0, 2), [{ type: 'WalletRequested' }, { type: 'WalletTagged' }])
  t.strictSame((await compareLive(parts.pool, LOG_CONTENTS)).differences, [])
})

t.test('a key that may only write wallets neither tags nor untags them', async (t) => {
  const { post, patch, get, parts } = await withWalletApi(t)
  await runSigner(t, parts)
  const refused = { status: 403, body: { errors: [{ code: 'insufficient_scope', field: 'tags' }] } }
  matchExactly(t, await post('/v1/wallets/create', { ...CREATE, tags: ['hot'] }), refused)
  t.equal((await parts.pool.query('SELECT FROM wallets')).rowCount, 0, 'a refused request leaves no wallet')
  const { wallet_id } = dataOf(await post('/v1/wallets/create', { ...CREATE, tags: ['hot'] }, POLICIES))
  const url = `/v1/wallets/${wallet_id}`
  for (const tags of [[], ['cold']]) matchExactly(t, await patch(url, { tags, label: 'Escaped' }), refused)
  matchExactly(t, dataOf(await get(url)), { tags: ['hot'], label: CREATE.label }, 'nothing of the request is done')
})

t.test('tags are at most 20 plain texts of at most 64 characters', async (t) => {
  const { post, patch, parts } = await withWalletApi(t)
  await runSigner(t, parts)
  const { wallet_id } = dataOf(await post('/v1/wallets/create', CREATE))
  const cases: [unknown, string][] = [
    [Array.from({ length: 21 }, (_, n) => `t${n}`), 'tags'],
    [['x'.repeat(65)], 'tags[0]'],
    [[''], 'tags[0]'],
    [['ok', 'zero\u200bwidth'], 'tags[1]'],
    [['line\nfeed'], 'tags[0]'],
    ['hot', 'tags'],
    [null, 'tags'],
    [[1], 'tags[0]'],
  ]
  for (const [tags, field] of cases)
    matchExactly(
      t,
      await patch(`/v1/wallets/${wallet_id}`, { tags }, POLICIES),
      { status: 422, body: { errors: [{ field }] } },
      field,
    )
  const most = Array.from({ length: 20 }, (_, n) => `${n} `.padEnd(3) + '🔥'.repeat(61))
  t.strictSame(dataOf(await patch(`/v1/wallets/${wallet_id}`, { tags: most }, POLICIES)).tags, most.toSorted())
})
