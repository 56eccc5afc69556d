/** Published metadata over HTTP on a real PostgreSQL: the bytes that were hashed, public, cached permanently. */
import { createHash } from 'node:crypto'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import t, { type Test } from 'tap'
import { digestOf } from '../../src/nft/metadata/cid.ts'
import { contentOf, contentRows } from '../../src/nft/metadata/content.ts'
import { metadataRoutes } from '../../src/nft/metadata/routes.ts'
import { startTestApp } from '../support/http.ts'
import { withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { openapiProblems } from '../support/openapi.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const TOWER = contentOf({
  name: 'Lighthouse 塔 🗼 "1"',
  description: 'Two\nlines \\ and more',
  image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am',
  attributes: [{ trait_type: 'é', value: '</script>' }],
})
/** `echo hello | ipfs add --cid-version 1`. */
const NEVER_MINTED = 'bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'

async function withRoute(t: Test, settings = {}) {
  const test = await withLog(t)
  const { app } = await startTestApp({
    routes: metadataRoutes(test),
    settings,
    clock: () => 0,
  })
  t.after(() => app.close())
  await test.log.append({ decisions: [], rows: contentRows(TOWER, NOW) })
  // Without a key: `inject` sends none.
  const get = (cid: string, headers = {}, method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' = 'GET') =>
    app.inject({ method, url: `/v1/nft/metadata/${cid}`, headers })
  return { ...test, app, get }
}

t.test('metadata is answered without a key, byte for byte as it was hashed', async (t: Test) => {
  const { get } = await withRoute(t)
  const answer = await get(TOWER.cid)
  t.equal(answer.statusCode, 200)
  t.equal(`0x${createHash('sha256').update(answer.rawPayload).digest('hex')}`, digestOf(TOWER.cid))
  t.match(answer.headers, {
    'content-type': /^application\/json/,
    'content-length': String(answer.rawPayload.length),
    etag: `"${TOWER.cid}"`,
    'cache-control': 'public, max-age=31536000, immutable',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  })
})

t.test('metadata is no document whose scripts run, whatever the answer', async (t: Test) => {
  const { get } = await withRoute(t)
  const answers = [
    await get(TOWER.cid),
    await get(TOWER.cid, {}, 'HEAD'),
    await get(TOWER.cid, { 'if-none-match': '*' }),
  ]
  for (const { statusCode, headers } of [...answers, await get(NEVER_MINTED), await get('x')]) {
    const policy = "default-src 'none'; sandbox"
    t.match(headers, { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' }, String(statusCode))
  }
})

t.test('text that does not have its CID is not published', async (t: Test) => {
  const { get, pool } = await withRoute(t)
  await pool.query(`UPDATE nft_metadata SET content = content || ' '`)
  t.equal((await get(TOWER.cid)).statusCode, 404)
})

t.test('HEAD returns the same headers without the bytes', async (t: Test) => {
  const { get } = await withRoute(t)
  const [head, answer] = [await get(TOWER.cid, {}, 'HEAD'), await get(TOWER.cid)]
  t.equal(head.statusCode, 200)
  t.equal(head.payload, '')
  for (const name of ['etag', 'cache-control', 'content-type', 'content-length', 'access-control-allow-origin'])
    t.equal(head.headers[name], answer.headers[name], name)
})

t.test('a client that has the document gets 304', async (t: Test) => {
  const { get } = await withRoute(t)
  for (const tag of [`"${TOWER.cid}"`, `W/"${TOWER.cid}"`, `"other", W/"${TOWER.cid}"`, '*']) {
    const answer = await get(TOWER.cid, { 'if-none-match': tag })
    t.equal(answer.statusCode, 304, tag)
    t.equal(answer.payload, '')
    t.match(answer.headers, {
      etag: `"${TOWER.cid}"`,
      'cache-control': /immutable/,
      'access-control-allow-origin': '*',
    })
  }
  for (const tag of ['"other"', TOWER.cid, `"${TOWER.cid}`, ''])
    t.equal((await get(TOWER.cid, { 'if-none-match': tag })).statusCode, 200, tag)
  t.equal((await get(NEVER_MINTED, { 'if-none-match': '*' })).statusCode, 404)
})

t.test('another writing of the same CID finds the same content', async (t: Test) => {
  const { get } = await withRoute(t)
  for (const base of [base58btc, base36]) {
    const answer = await get(CID.parse(TOWER.cid).toString(base.encoder))
    t.equal(answer.payload, TOWER.text)
    t.equal(answer.headers.etag, `"${TOWER.cid}"`)
  }
})

t.test('unknown metadata is answered with 404, which must not be cached', async (t: Test) => {
  const { get } = await withRoute(t)
  for (const cid of [NEVER_MINTED, 'QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN']) {
    const answer = await get(cid)
    t.equal(answer.statusCode, 404)
    matchExactly(t, answer.json(), { status: 'error', errors: [{ type: 'not_found', code: 'metadata_not_found' }] })
    t.match(answer.headers, { 'cache-control': 'no-store', 'access-control-allow-origin': '*', etag: undefined })
  }
})

t.test('a value that is not a CID is refused', async (t: Test) => {
  const { get, app } = await withRoute(t)
  for (const cid of ['x', TOWER.cid.slice(1), `${TOWER.cid}a`, '..%2F..%2Fetc%2Fpasswd', 'a'.repeat(256)]) {
    const answer = await get(cid)
    t.equal(answer.statusCode, 422, cid)
    matchExactly(t, answer.json(), { errors: [{ type: 'validation_error', code: 'invalid_cid', field: 'cid' }] })
  }
  matchExactly(t, (await get('%00')).json(), {
    errors: [{ type: 'validation_error', code: 'invalid_text', field: 'cid' }],
  })
  t.equal((await get('a'.repeat(257))).statusCode, 414)
  t.equal((await app.inject({ url: '/v1/nft/metadata/' })).statusCode, 422)
  t.equal((await get(TOWER.cid, {}, 'POST')).statusCode, 405)
})

t.test('requests without a key are limited by address', async (t: Test) => {
  const { get } = await withRoute(t, { rateLimitPerSecond: 3, trustedProxies: ['loopback'] })
  const from = (address: string) => get(TOWER.cid, { 'x-forwarded-for': address })
  const answers = [await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.1')]
  t.strictSame(
    answers.map(({ statusCode, headers }) => [statusCode, headers['ratelimit-remaining']]),
    [
      [200, '2'],
      [200, '1'],
      [200, '0'],
    ],
  )
  const refused = await from('192.0.2.1')
  t.equal(refused.statusCode, 429)
  t.match(refused.headers, { 'retry-after': '1', 'cache-control': 'no-store' })
  t.equal((await from('192.0.2.2')).statusCode, 200, 'another address has its own limit')
})

t.test('equal content keeps the first row and the state of its pin', async (t: Test) => {
  const { pool, log } = await withRoute(t)
  await pool.query('UPDATE nft_pins SET pinned_at = $1, due_at = $1', ['2026-02-01T00:00:00.000Z'])
  const again = contentRows(TOWER, '2026-03-01T00:00:00.000Z')
  await Promise.all([
    log.append({ decisions: [], rows: [...again, ...again] }),
    log.append({ decisions: [], rows: again }),
  ])
  const { rows } = await pool.query('SELECT * FROM nft_metadata JOIN nft_pins USING (cid)')
  const pinned = new Date('2026-02-01T00:00:00.000Z')
  t.same(rows, [{ cid: TOWER.cid, content: TOWER.text, pinned_at: pinned, due_at: pinned }])
})

t.test('the reference documents the route whole, and that it needs no key', async (t: Test) => {
  const { app } = await withRoute(t)
  const document = (await app.inject({ url: '/openapi.json' })).json()
  t.strictSame(openapiProblems(document), [])
  const { get } = document.paths['/v1/nft/metadata/{cid}']
  t.strictSame(get.security, [])
  t.strictSame(Object.keys(get.responses), ['200', '304', '400', '404', '414', '422', '429', '500', '503'])
  t.equal(get.responses['200'].content['application/json'].example.name, 'Lighthouse #1')
})
