/** Exporting keys over HTTP on a real PostgreSQL: access, retention, and the fold of the log. */

import { createHash, hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { computeAddress, HDNodeWallet, Mnemonic } from 'ethers'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { createIdentity, openWith } from '../../src/keys/age.ts'
import { createLogger } from '../../src/logging.ts'
import { deleteExpiredFiles, exportWork } from '../../src/recovery/jobs.ts'
import { type SealContext, sealExport } from '../../src/recovery/seal-export.ts'
import { archiveWallet } from '../../src/wallets/archive-wallet.ts'
import { createWalletFacts } from '../../src/wallets/wallet-facts.ts'
import { findAge } from '../support/age.ts'
import { serve } from '../support/capabilities.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS } from '../support/http.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ACME, anotherLog, makeWallet, withWallets } from '../support/wallet-parts.ts'

const ASYNC = { prefer: 'respond-async' }
const EXPORTER = { authorization: `Bearer ${KEYS.exporter}` }
/** As created by the test signer. */
const seedOf = async (tenantId: string) => createHash('sha256').update(tenantId).digest()

type Data = Readonly<Record<string, string>> & { readonly failure: unknown }
const dataOf = (answer: Answer) => answer.body.data as Data

async function withExports(t: Test, allowedRecipients: readonly string[] | null = null) {
  const clock = { ms: Date.now() }
  const told: string[] = []
  const parts = await withWallets(t, ({ config }) => ({
    clock: () => clock.ms,
    config: { ...config, exportRecipients: allowedRecipients },
    logger: createLogger(
      { level: 'info', processName: 'api' },
      { write: (line) => void told.push(`requested ${(JSON.parse(line) as { export_id: string }).export_id}`) },
    ),
  }))
  const { pool } = parts
  const { send, logged } = await serve(parts, ['recovery'])
  const signer = (overrides: Partial<SealContext> = {}) => {
    const ctx: SealContext = {
      log: anotherLog(parts),
      walletOf: createWalletFacts(pool),
      loadSeed: seedOf,
      config: { exportRecipients: null },
      problemOf: async () => null,
      logger: {
        warn: (fields: object, message: string) =>
          told.push(`${message.split(' ').at(-1)} ${(fields as { export_id: string }).export_id}`),
      },
      metrics: { count: () => undefined },
      ...overrides,
    }
    return (exportId: string) => sealExport(ctx, exportId)
  }
  const walletId = await makeWallet(parts)
  const post = (body: object, headers: Record<string, string> = {}, of = walletId) =>
    send({
      method: 'POST',
      url: `/v1/wallets/${of}/export`,
      payload: body,
      headers: { ...EXPORTER, ...ASYNC, ...headers },
    })
  const get = (exportId: string, headers: Record<string, string> = {}) =>
    send({ method: 'GET', url: `/v1/wallets/${walletId}/exports/${exportId}`, headers: { ...EXPORTER, ...headers } })
  return { ...parts, clock, told, logged, signer, walletId, post, get, ...(await createIdentity()) }
}

type Exports = Awaited<ReturnType<typeof withExports>>

async function open({ identity }: Pick<Exports, 'identity'>, armor: string | undefined): Promise<Data> {
  const body = (armor ?? '').split('\n').slice(1, -2).join('')
  const opened = await openWith([identity], Buffer.from(body, 'base64'))
  if (opened.outcome !== 'opened') throw new Error(opened.outcome)
  return JSON.parse(Buffer.from(opened.plaintext).toString()) as Data
}

t.test('the key of an hd wallet is sealed to the recipient, and is nowhere else', async (t) => {
  const api = await withExports(t)
  const { pool, walletId, recipient, signer, told, logged } = api
  const accepted = await api.post({ recipient }, { 'idempotency-key': 'once' })
  t.equal(accepted.status, 202, accepted.text)
  const { export_id: id = '' } = dataOf(accepted)
  t.match(dataOf(accepted), { export_id: /^exp_/, wallet_id: walletId, status: 'requested', recipient })
  t.match(dataOf(accepted), { ciphertext: null, sha256: null, expires_at: null, failure: null })
  t.match(dataOf(await api.get(id)), { status: 'requested', ciphertext: null })
  await signer()(id)
  const answer = await api.post({ recipient }, { 'idempotency-key': 'once', prefer: 'wait=10' })
  t.strictSame([answer.status, answer.headers['idempotency-replayed']], [201, 'true'], answer.text)
  const { ciphertext, sha256, expires_at, exported_at } = dataOf(answer)
  t.equal(sha256, hash('sha256', ciphertext ?? ''))
  t.equal(Date.parse(expires_at ?? '') - Date.parse(exported_at ?? ''), 3_600_000)
  t.strictSame(dataOf(await api.get(id)), dataOf(answer))

  const key = await open(api, ciphertext)
  const { rows } = await pool.query('SELECT address FROM wallets WHERE wallet_id = $1', [walletId])
  t.match(key, { wallet_id: walletId, export_id: id, type: 'hd', address: rows[0].address, network: 'ethereum' })
  t.match(key, { derivation_path: "m/44'/60'/0'/0/0", environment: 'mainnet', chain_id: 1000001 })
  t.equal(computeAddress(key.private_key ?? ''), rows[0].address)
  const words = Mnemonic.fromEntropy(await seedOf('acme'))
  t.equal(HDNodeWallet.fromMnemonic(words, key.derivation_path).privateKey, key.private_key, 'ethers derives this key')

  const { rows: events } = await pool.query(
    `SELECT type, data FROM events WHERE stream_id = 'export-' || $1 ORDER BY 1`,
    [id],
  )
  t.strictSame(
    events.map(({ type }) => type),
    ['WalletExportRequested', 'WalletExported'],
  )
  const secret = key.private_key?.slice(2) ?? '-'
  const everything = JSON.stringify([events, logged()])
  for (const word of [secret, 'AGE ENCRYPTED', api.identity]) t.notOk(everything.includes(word))
  t.strictSame(told, [`requested ${id}`, `exported ${id}`], 'the log has one line for each step')
})

t.test('a file that is not the one of the log is not returned, whatever its row says', async (t) => {
  const api = await withExports(t)
  const accepted = await api.post({ recipient: api.recipient }, { 'idempotency-key': 'once', ...ASYNC })
  const { export_id: id = '' } = dataOf(accepted)
  await api.signer()(id)
  t.equal((await api.get(id)).status, 200)
  await api.pool.query("UPDATE wallet_export_files SET ciphertext = 'x'")
  await api.pool.query('UPDATE wallet_exports SET sha256 = $1', [hash('sha256', 'x')])
  const refused = await api.get(id)
  matchExactly(t, [refused.status, refused.body], [410, { errors: [{ code: 'export_expired' }] }])
})

t.test('a key with all scopes is refused, and another tenant sees no wallet', async (t) => {
  const { post, get, recipient, walletId } = await withExports(t)
  const full = { authorization: `Bearer ${KEYS.full}` }
  const refused = await post({ recipient }, full)
  t.strictSame([refused.status, ...told(refused)], [403, '- insufficient_scope'])
  t.match(refused.body.message, /recovery:export/)
  t.equal((await get('exp_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11', full)).status, 403)
  t.strictSame(told(await get('exp_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11')), ['- export_not_found'])
  const foreign = await post({ recipient }, {}, `${walletId.slice(0, -1)}${walletId.endsWith('0') ? '1' : '0'}`)
  t.strictSame(told(foreign), ['- wallet_not_found'])
})

t.test('a wallet that cannot be exported is refused with the reason, and nothing is recorded', async (t) => {
  const exports = await withExports(t)
  const { post, recipient, identity, pool, walletId, findWallet } = exports
  const mistyped = `${recipient.slice(0, -1)}${recipient.endsWith('q') ? 'p' : 'q'}`
  for (const bad of ['age1', mistyped, identity, 'age1pq1x']) {
    const answer = await post({ recipient: bad })
    t.strictSame([answer.status, ...told(answer)], [422, 'recipient invalid_recipient'])
    t.notOk(answer.text.includes(identity), 'the answer does not repeat the secret')
  }
  t.match((await post({ recipient: 'age1' })).body.message, /age-keygen/)
  t.strictSame(told(await post({})), ['recipient required'])
  const insert = (id: string, type: string, key: object | null) =>
    pool.query(
      `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, key_ref, created_at, version)
       VALUES ($1, 'acme', $2, 'ethereum', 'mainnet', 1000001, $1, '', 'active', $3, now(), 2)`,
      [id, type, key],
    )
  const [mpc, watch, bare] = [1, 2, 3].map((n) => `wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a0${n}`) as [
    string,
    string,
    string,
  ]
  await insert(mpc, 'mpc', { kind: 'mpc', keyId: 'k' })
  await insert(watch, 'watch', null)
  const ofMpc = await post({ recipient }, {}, mpc)
  t.strictSame([ofMpc.status, ...told(ofMpc)], [422, 'wallet_id mpc_not_exportable'])
  t.match(ofMpc.body.message, /exists only as shares.*recovery kit/)
  t.strictSame(told(await post({ recipient }, {}, watch)), ['wallet_id watch_only'])
  await insert(bare, 'hd', null)
  await pool.query('UPDATE wallets SET address = NULL WHERE wallet_id = $1', [bare])
  t.strictSame(told(await post({ recipient }, {}, bare)), ['- wallet_not_ready'])
  await archiveWallet(exports, await findWallet({ tenantId: 'acme', environment: 'mainnet' }, walletId), {
    force: false,
    metadata: ACME,
  })
  const ofArchived = await post({ recipient })
  t.strictSame([ofArchived.status, ...told(ofArchived)], [409, '- wallet_archived'])
  t.equal((await pool.query('SELECT FROM wallet_exports')).rowCount, 0)
})

t.test('a file is kept for an hour, its record for longer', async (t) => {
  const api = await withExports(t)
  const { pool, clock, signer, recipient } = api
  const { export_id: id = '' } = dataOf(await api.post({ recipient }, { 'idempotency-key': 'once' }))
  await signer()(id)
  const { expires_at = '' } = dataOf(await api.get(id))
  const end = Date.parse(expires_at)
  t.equal(await deleteExpiredFiles(pool, new Date(end - 1)), 0)
  clock.ms = end
  const gone = await api.get(id)
  t.strictSame([gone.status, ...told(gone)], [410, '- export_expired'], 'the export expires before it is deleted')
  t.equal(await deleteExpiredFiles(pool, new Date(end)), 1)
  const again = await api.post({ recipient }, { 'idempotency-key': 'once' })
  t.strictSame([again.status, ...told(again)], [410, '- export_expired'])
  const { rows } = await pool.query('SELECT status, sha256 IS NOT NULL AS known FROM wallet_exports')
  t.strictSame(rows, [{ status: 'exported', known: true }])
})

t.test('one of several signers makes the file, and its hash is in the log', async (t) => {
  const api = await withExports(t)
  const { export_id: id = '' } = dataOf(await api.post({ recipient: api.recipient }))
  await Promise.all(Array.from({ length: 5 }, () => api.signer()(id)))
  const { ciphertext, sha256 } = dataOf(await api.get(id))
  t.equal(sha256, hash('sha256', ciphertext ?? ''))
  await api.signer()(id)
  t.equal(dataOf(await api.get(id)).sha256, sha256, 'a repeated job does not change the file')
  t.strictSame(
    api.told.filter((line) => line.startsWith('exported')),
    [`exported ${id}`],
  )
  t.strictSame((await compareLive(api.pool, LOG_CONTENTS)).differences, [], 'the live tables equal the replayed log')
})

t.test('a recipient that the settings do not name gets no key, though the API asks for it', async (t) => {
  const { recipient: trusted } = await createIdentity()
  const api = await withExports(t, [trusted])
  const refused = await api.post({ recipient: api.recipient })
  t.strictSame([refused.status, ...told(refused)], [403, '- recipient_not_allowed'])
  const { export_id: id = '' } = dataOf(await api.post({ recipient: trusted }))
  // As if the API were compromised: the signer uses its own settings.
  await api.signer({ config: { exportRecipients: [] } })(id)
  t.match(dataOf(await api.get(id)), {
    status: 'refused',
    ciphertext: null,
    failure: { code: 'recipient_not_allowed' },
  })
  t.equal((await api.pool.query('SELECT FROM wallet_export_files')).rowCount, 0)
})

t.test('without a recipient exports are off: the API names the setting, and a signer refuses too', async (t) => {
  const { exportRecipients } = loadConfig({ DATABASE_URL: 'postgres://localhost/bursar' })
  const api = await withExports(t, exportRecipients)
  const refused = await api.post({ recipient: api.recipient })
  t.strictSame([refused.status, ...told(refused)], [403, '- export_not_configured'])
  t.match(refused.body.message, /EXPORT_RECIPIENTS/)
  t.equal((await api.pool.query('SELECT FROM wallet_exports')).rowCount, 0, 'no export is recorded')
  // As if the API were compromised: the request gets into the log, and the signer has the same settings.
  const taken = await withExports(t)
  const { export_id: id = '' } = dataOf(await taken.post({ recipient: taken.recipient }))
  await taken.signer({ config: { exportRecipients } })(id)
  t.match(dataOf(await taken.get(id)), {
    status: 'refused',
    ciphertext: null,
    failure: { code: 'recipient_not_allowed', message: /EXPORT_RECIPIENTS/ },
  })
  t.equal((await taken.pool.query('SELECT FROM wallet_export_files')).rowCount, 0)
})

t.test('with another keystore nothing is sealed, and the export waits for the right one', async (t) => {
  const api = await withExports(t)
  const { export_id: id = '' } = dataOf(await api.post({ recipient: api.recipient }))
  await t.rejects(api.signer({ loadSeed: () => seedOf('another') })(id), { code: 'keystore_wrong', retryable: true })
  t.strictSame(
    (await exportWork.findQuiet(api.pool, new Date(Date.now() + 1_000), 10)).map(({ data }) => data.export_id),
    [id],
    'the sweeper finds the waiting export',
  )
  await api.signer()(id)
  t.equal(dataOf(await api.get(id)).status, 'exported')
  t.strictSame(await exportWork.findQuiet(api.pool, new Date(Date.now() + 1_000), 10), [])
})

const age = findAge()
t.test('the age program opens what was exported', { skip: age === null && 'no age program' }, async (t) => {
  const api = await withExports(t)
  const { export_id: id = '' } = dataOf(await api.post({ recipient: api.recipient }))
  await api.signer()(id)
  const identityFile = join(t.testdir(), 'identity.txt')
  await writeFile(identityFile, `${api.identity}\n`)
  const read = age?.(identityFile, Buffer.from(dataOf(await api.get(id)).ciphertext ?? '')) ?? ''
  t.match(JSON.parse(read), { wallet_id: api.walletId, private_key: /^0x[0-9a-f]{64}$/ })
})
