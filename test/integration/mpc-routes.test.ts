/** Mpc wallets and their shares over HTTP: requests, responses, and every refusal. */
import t, { type Test } from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { shareRoutes } from '../../src/mpc-wallets/routes.ts'
import { openingRoutes } from '../../src/wallets/opening-routes.ts'
import { walletRoutes } from '../../src/wallets/routes.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS, startTestApp } from '../support/http.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  ALL_ALIVE,
  accusationsOn,
  beatAs,
  makeMpcWallet,
  newId,
  signerOn,
  TERMS,
  withMpcKeys,
} from '../support/mpc-log-side.ts'
import { UNKNOWN_ID } from '../support/wallet-api.ts'
import { makeWallet } from '../support/wallet-parts.ts'

const CREATE = { type: 'mpc', network: 'ethereum', label: 'Main', environment: 'mainnet' }

async function withShares(t: Test) {
  const parts = await withMpcKeys(t)
  const { send } = await startTestApp({
    routes: (app) => {
      openingRoutes(parts)(app)
      walletRoutes(parts)(app)
      shareRoutes({ ...parts, newId })(app)
    },
  })
  const post = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    send({ method: 'POST', url, headers, ...(payload === undefined ? {} : { payload }) })
  return { parts, post, send, get: (url: string) => send({ method: 'GET', url }) }
}

/** The content of `data`, loosely typed. */
function dataOf({ body }: Answer): Record<string, unknown> & { readonly wallet_id: string } {
  return body.data as Record<string, unknown> & { readonly wallet_id: string }
}

t.test("the contract's create request makes an mpc wallet, which shows how its key is divided", async (t: Test) => {
  const { parts, post, get } = await withShares(t)
  await beatAs(parts.pool, ALL_ALIVE)
  const accepted = await post('/v1/wallets/create', CREATE, { prefer: 'respond-async' })
  t.equal(accepted.status, 202)
  const { wallet_id: id } = dataOf(accepted)
  t.match(dataOf(accepted), { address: null, type: 'mpc', status: 'requested', mpc: TERMS, public_key: null })
  await parts.makeMpcWallet(id)
  const wallet = dataOf(await get(`/v1/wallets/${id}`))
  t.match(wallet, { address: /^0x/, type: 'mpc', status: 'active', mpc: TERMS, public_key: /^0x0[23]/ })

  const own = { threshold: 2, parties: 2 }
  const smaller = await post('/v1/wallets/create', { ...CREATE, mpc: own }, { prefer: 'respond-async' })
  t.match(dataOf(smaller), { mpc: own })
  const hd = await makeWallet(parts)
  t.notOk('mpc' in dataOf(await get(`/v1/wallets/${hd}`)), 'a wallet of another type has no mpc field')
})

t.test(
  'a create request waits three times as long for the key of an mpc wallet as for one of an hd wallet',
  async (t: Test) => {
    const parts = await withMpcKeys(t)
    await beatAs(parts.pool, ALL_ALIVE)
    const waited: number[] = []
    const waitForWallet = async (_id: string, timeoutMs: number) => {
      waited.push(timeoutMs)
      return null
    }
    const { send } = await startTestApp({ routes: openingRoutes({ ...parts, waitForWallet }) })
    for (const type of ['hd', 'mpc']) {
      t.equal((await send({ method: 'POST', url: '/v1/wallets/create', payload: { ...CREATE, type } })).status, 202)
    }
    t.strictSame(waited, [10_000, 30_000])
  },
)

t.test('impossible terms are refused with their field and rule, and nothing is recorded', async (t: Test) => {
  const { parts, post } = await withShares(t)
  await beatAs(parts.pool, ALL_ALIVE)
  const cases: [object, string][] = [
    [{ mpc: { threshold: 2, parties: 4 } }, 'mpc.parties too_many_parties'],
    [{ mpc: { threshold: 3, parties: 2 } }, 'mpc.threshold threshold_too_high'],
    [{ mpc: { threshold: 1, parties: 3 } }, 'mpc.threshold too_small'],
    [{ mpc: { threshold: 2, parties: 21 } }, 'mpc.parties too_large'],
    [{ mpc: { threshold: 2.5, parties: 3 } }, 'mpc.threshold wrong_type'],
    [{ mpc: { threshold: '2', parties: 3 } }, 'mpc.threshold wrong_type'],
    [{ mpc: { parties: 3 } }, 'mpc.threshold required'],
    [{ mpc: { ...TERMS, members: [] } }, 'mpc.members unknown_field'],
    [{ mpc: null }, 'mpc wrong_type'],
    [{ type: 'hd', mpc: TERMS }, 'mpc mpc_only'],
  ]
  for (const [change, refusal] of cases) {
    const answer = await post('/v1/wallets/create', { ...CREATE, ...change })
    t.strictSame([answer.status, ...told(answer)], [422, refusal], JSON.stringify(change))
  }
  const { rows } = await parts.pool.query('SELECT FROM events')
  t.equal(rows.length, 0)
})

t.test('the shares of a wallet are read, refreshed and recovered', async (t: Test) => {
  const { parts, post, get } = await withShares(t)
  const { walletId, keyId } = await makeMpcWallet(parts)
  const url = `/v1/wallets/${walletId}/shares`
  const before = dataOf(await get(url))
  matchExactly(t, before, {
    wallet_id: walletId,
    public_key: /^0x0[23]/,
    ...TERMS,
    epoch: 0,
    refreshed_at: /Z$/,
    banned: [],
    accusations: [],
    open_refresh: null,
    last_refresh: null,
  })
  const accuse = accusationsOn(parts.log)
  await accuse({ keyId, party: 3, epoch: 0, accusedBy: 1, reason: 'it lied' })
  matchExactly(t, dataOf(await get(url)), { banned: [], accusations: [{ party: 3, accused_by: 1 }] })

  const key = { 'idempotency-key': 'k1' }
  const asked = await post(`${url}/refresh`, undefined, { ...key, prefer: 'respond-async' })
  t.strictSame([asked.status, asked.headers['preference-applied']], [202, 'respond-async'])
  const pending = dataOf(asked)
  t.match(pending, {
    refresh_id: /^rfr_/,
    status: 'pending',
    epoch: 0,
    reason: 'requested',
    party: null,
    ended_at: null,
  })
  t.strictSame(dataOf(await get(url)).open_refresh, pending)
  const second = await post(`${url}/recover`, { party: 3 })
  t.equal(second.status, 409)
  const details = { refresh_id: pending.refresh_id, reason: 'requested' }
  matchExactly(t, second.body.errors, [{ type: 'conflict', code: 'refresh_in_progress', details }])

  const waiting = post(`${url}/refresh`, undefined, key)
  await parts.refreshShares(keyId)
  const answered = await waiting
  t.strictSame([answered.status, answered.headers['idempotency-replayed']], [200, 'true'])
  t.match(dataOf(answered), {
    refresh_id: pending.refresh_id,
    status: 'refreshed',
    epoch: 1,
    ended_at: /Z$/,
    failure: null,
  })
  const after = dataOf(await get(url))
  t.strictSame(after, { ...before, epoch: 1, refreshed_at: after.refreshed_at, last_refresh: dataOf(answered) })

  const recovering = post(`${url}/recover`, { party: 3 })
  while ((await get(url)).body.data?.open_refresh === null) await new Promise((resolve) => setTimeout(resolve, 10))
  await parts.refreshShares(keyId)
  const recovered = await recovering
  t.equal(recovered.status, 200)
  t.match(dataOf(recovered), { status: 'refreshed', epoch: 2, reason: 'recovery', party: 3 })
  const late = await post(`${url}/refresh`, undefined, key)
  t.match(dataOf(late), { refresh_id: pending.refresh_id, epoch: 1 }, 'the first request gets the same answer')
})

t.test('a failed refresh returns its reason, and the shares stay', async (t: Test) => {
  const { parts, post, get } = await withShares(t)
  const { walletId, keyId } = await makeMpcWallet(parts)
  const url = `/v1/wallets/${walletId}/shares`
  const asked = dataOf(await post(`${url}/refresh`, undefined, { prefer: 'wait=0' }))
  parts.parties.onStep = () => {
    throw new Unavailable('mpc_parties_unavailable', 'Party 3 does not answer.')
  }
  await t.rejects(parts.refreshShares(keyId), { code: 'mpc_parties_unavailable' })
  t.match(dataOf(await get(url)), { open_refresh: { refresh_id: asked.refresh_id, status: 'pending' } })
  await signerOn(parts.log, parts.pool, parts.parties, () => Date.now() + 6 * 60_000).refreshShares(keyId)
  const failure = { code: 'mpc_parties_unavailable', message: 'Party 3 does not answer.' }
  t.match(dataOf(await get(url)), {
    epoch: 0,
    open_refresh: null,
    last_refresh: { refresh_id: asked.refresh_id, status: 'failed', epoch: 0, failure, ended_at: /Z$/ },
  })
})

t.test('wallets without shares, without a key yet, or of others are refused, and scopes are kept', async (t: Test) => {
  const { parts, post, get, send } = await withShares(t)
  const { walletId } = await makeMpcWallet(parts)
  const hd = await makeWallet(parts)
  const watch = await post('/v1/wallets/watch', {
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    network: 'ethereum',
  })
  const requested = dataOf(await post('/v1/wallets/create', CREATE, { prefer: 'wait=0' })).wallet_id
  const refusalsOf = async (id: string) =>
    Promise.all([
      get(`/v1/wallets/${id}/shares`),
      post(`/v1/wallets/${id}/shares/refresh`),
      post(`/v1/wallets/${id}/shares/recover`, { party: 1 }),
    ])
  const cases: [string, number, string][] = [
    [hd, 422, 'wallet_id mpc_only'],
    [dataOf(watch).wallet_id, 422, 'wallet_id mpc_only'],
    [requested, 409, '- wallet_not_ready'],
    [UNKNOWN_ID, 404, '- wallet_not_found'],
  ]
  for (const [id, status, refusal] of cases)
    for (const answer of await refusalsOf(id)) t.strictSame([answer.status, ...told(answer)], [status, refusal])

  const url = `/v1/wallets/${walletId}/shares`
  const bodies: [object, string][] = [
    [{}, 'party required'],
    [{ party: 0 }, 'party too_small'],
    [{ party: 4 }, 'party not_allowed'],
    [{ party: '3' }, 'party wrong_type'],
    [{ party: 3, force: true }, 'force unknown_field'],
  ]
  for (const [body, refusal] of bodies) t.strictSame(told(await post(`${url}/recover`, body)), [refusal])
  t.strictSame(told(await post(`${url}/refresh`, { party: 3 })), ['party unknown_field'])
  t.equal((await get(url)).body.data?.open_refresh, null, 'no refresh was started')
  for (const [token, status] of [
    [KEYS.reader, 403],
    [KEYS.cold, 404],
  ] as const) {
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await send({ method: 'GET', url, headers })).status, status)
    t.equal((await post(`${url}/refresh`, undefined, headers)).status, status)
  }
})

t.test('a key of the pool belongs to no tenant, and is not shown', async (t: Test) => {
  const { parts, get } = await withShares(t)
  await parts.generateKey(newId('mpcKey'), TERMS)
  const answer = await get('/v1/wallets')
  t.strictSame(dataOf(answer).wallets, [])
})
