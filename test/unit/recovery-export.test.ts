/** When a wallet's key may be exported, what is recorded, and the files of age. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { allows, grantsBefore } from '../../src/core/scopes.ts'
import { SCOPES } from '../../src/declarations.ts'
import { upcast } from '../../src/event-log/aggregate.ts'
import {
  armored,
  createIdentity,
  openWith,
  parseIdentities,
  RECIPIENT_PATTERN,
  requireRecipient,
  sealTo,
} from '../../src/keys/age.ts'
import { exportAggregate } from '../../src/recovery/aggregate.ts'
import { type ExportCommand, refusalOf } from '../../src/recovery/decider.ts'
import type { ExportEvent } from '../../src/recovery/events.ts'
import { exportWork } from '../../src/recovery/jobs.ts'
import type { ExportState, KnownExport } from '../../src/recovery/state.ts'
import { withoutQuotedSecrets, withoutSecrets } from '../../src/redaction.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:01.000Z'
const LATER = '2026-11-21T13:00:01.000Z'

function golden(type: string): ExportEvent {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  return upcast<ExportEvent>(exportAggregate.schemas, type, file.schema_version, file.data)
}

const fold = (...types: string[]) =>
  types.map(golden).reduce<ExportState>(exportAggregate.evolve, exportAggregate.initialState)
const requested = fold('WalletExportRequested') as KnownExport
const record: ExportCommand = { type: 'RecordExport', sha256: 'ab', now: NOW, expiresAt: LATER }
const refuse: ExportCommand = { type: 'Refuse', refusal: 'request_expired', now: NOW }

t.test('every event that was ever written is still read', async (t) => {
  t.match(requested, { status: 'requested', walletId: 'wal_1', recipient: /^age1/, sha256: null, refusal: null })
  t.match(fold('WalletExportRequested', 'WalletExported'), { status: 'exported', sha256: /^9f86/, expiresAt: LATER })
  t.match(fold('WalletExportRequested', 'WalletExportRefused'), { status: 'refused', refusal: 'recipient_not_allowed' })
  t.strictSame(fold('WalletExported'), { status: 'unknown' }, 'an event without an earlier request does not throw')
})

t.test('an export ends once: later events do not change its outcome', async (t) => {
  const { decide, evolve } = exportAggregate
  const { walletId, recipient } = requested
  const exported: ExportEvent = {
    type: 'WalletExported',
    data: { walletId, recipient, ciphertextSha256: 'ab', exportedAt: NOW, expiresAt: LATER },
  }
  const refused: ExportEvent = {
    type: 'WalletExportRefused',
    data: { walletId, recipient, code: 'request_expired', refusedAt: NOW },
  }
  for (const [first, second, event] of [
    [record, refuse, exported],
    [refuse, record, refused],
  ] as const) {
    const ended = evolve(requested, event)
    t.strictSame(decide(first, requested), [event])
    t.strictSame(decide(second, ended), [])
    t.strictSame(decide(first, ended), [])
  }
  t.throws(() => decide(record, exportAggregate.initialState), { code: 'export_not_found' })
  t.throws(() => decide({ type: 'RequestExport', request: requested }, requested), { code: 'export_exists' })
})

t.test('a signer serves only who its own settings allow, and only while the caller can be waiting', async (t) => {
  const { recipient } = requested
  t.equal(refusalOf(requested, null, NOW), null)
  t.equal(refusalOf(requested, [recipient], NOW), null)
  t.equal(refusalOf(requested, [], NOW), 'recipient_not_allowed')
  t.equal(refusalOf(requested, null, '2026-11-21T12:15:00.000Z'), null)
  t.equal(refusalOf(requested, null, '2026-11-21T12:15:00.001Z'), 'request_expired')
})

t.test('neither an event nor a row holds what was sealed', async (t) => {
  const { rows } = exportAggregate.project(requested, fold('WalletExportRequested', 'WalletExported'), {
    id: 'exp_1',
    tenantId: 'acme',
    version: 2,
    recordedAt: NOW,
  })
  t.strictSame(
    rows.map(({ table }) => table),
    ['wallet_exports'],
  )
  t.notOk(Object.keys(rows[0]?.row ?? {}).some((column) => /cipher|key|file/.test(column)))
})

t.test('a request is the one event that makes a job', async (t) => {
  const streamId = 'export-exp_1'
  t.strictSame(exportWork.jobsOf({ type: 'WalletExportRequested', streamId }), [
    { queue: 'export', id: 'exp_1', data: { export_id: 'exp_1' } },
  ])
  t.strictSame(exportWork.jobsOf({ type: 'WalletExported', streamId }), [])
})

t.test('a key with all scopes does not export: that scope must be named', async (t) => {
  for (const scope of SCOPES) {
    t.equal(
      allows(new Set(grantsBefore(['*'])), scope),
      !/^(recovery:export|api_keys:.*|policies:.*)$/.test(scope),
      scope,
    )
    t.ok(allows(new Set([scope]), scope))
  }
  t.ok(allows(new Set(grantsBefore(['*', 'recovery:export'])), 'recovery:export'))
  t.notOk(allows(new Set(['wallets:read']), 'wallets:write'))
})

t.test('a recipient is taken by its shape, its checksum and a trial', async (t) => {
  const { recipient, identity } = await createIdentity()
  t.match(recipient, new RegExp(RECIPIENT_PATTERN))
  await requireRecipient(recipient, 'recipient')
  const swapped = `${recipient.slice(0, -2)}${recipient.at(-1)}${recipient.at(-2)}`
  const mistyped = swapped === recipient ? `${recipient.slice(0, -1)}${recipient.endsWith('q') ? 'p' : 'q'}` : swapped
  // Encodes the point 0, for which any secret gives zeros as agreement.
  const zero = 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z'
  for (const bad of ['', 'age1', recipient.toUpperCase(), mistyped, zero, 'age1pq1qqqq', 'ssh-ed25519 AAAA']) {
    const refused: unknown = await requireRecipient(bad, 'recipient').catch((thrown: unknown) => thrown)
    matchExactly(t, refused, { items: [{ field: 'recipient', code: 'invalid_recipient' }] }, bad)
  }
  const error = await requireRecipient(identity, '--recipient').catch((thrown: Error) => thrown)
  t.match(error, { message: /--recipient is a secret key/ })
  t.notMatch(String(error), identity)
})

t.test('a sealed file opens for each recipient, for nobody else, and only unchanged', async (t) => {
  const [one, two, stranger] = [await createIdentity(), await createIdentity(), await createIdentity()]
  const file = await sealTo([one.recipient, two.recipient], Buffer.from('the key'))
  for (const { identity } of [one, two]) {
    const opened = await openWith([stranger.identity, identity], file)
    t.equal(opened.outcome === 'opened' && Buffer.from(opened.plaintext).toString(), 'the key')
  }
  t.strictSame(await openWith([stranger.identity], file), { outcome: 'not_for_us' })
  for (const at of [10, file.length - 1]) {
    const changed = Uint8Array.from(file)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.strictSame(await openWith([one.identity], changed), { outcome: 'damaged' })
  }
  t.strictSame(await openWith([one.identity], Buffer.from('no age file')), { outcome: 'damaged' })
  t.match(armored(file), /^-----BEGIN AGE ENCRYPTED FILE-----\n/)
})

t.test('identities are read as age-keygen writes them, and no error repeats one', async (t) => {
  const [one, two] = [await createIdentity(), await createIdentity()]
  const file = `# created: today\n# public key: ${one.recipient}\n${one.identity}\r\n\n${two.identity}\n`
  t.strictSame(await parseIdentities(file, 'id.txt'), [one.identity, two.identity])
  const broken = `${one.identity.slice(0, -1)}${one.identity.endsWith('Q') ? 'P' : 'Q'}`
  const bad: readonly [string, RegExp][] = [
    [`${file}${broken}\n`, /id\.txt: line 6 is not an age identity/],
    [one.recipient, /line 1 is not an age identity/],
    ['# nothing\n', /has no age identity/],
    ['age-encryption.org/v1\n-> scrypt', /is encrypted/],
    ['-----BEGIN AGE ENCRYPTED FILE-----\n', /is encrypted/],
  ]
  for (const [text, message] of bad) {
    const error = await parseIdentities(text, 'id.txt').catch((thrown: Error) => thrown)
    t.match(error, { message })
    t.notMatch(String(error), /AGE-SECRET-KEY-1[A-Z0-9]/)
  }
})

t.test('no log shows an identity, words, entropy or a file that was sealed', async (t) => {
  const { identity } = await createIdentity()
  t.equal(withoutQuotedSecrets(`Invalid checksum in ${identity}: no`), 'Invalid checksum in [redacted]: no')
  t.equal(withoutQuotedSecrets(identity.toLowerCase()), '[redacted]')
  for (const name of ['private_key', 'words', 'entropy', 'ciphertext', 'ageIdentity']) {
    t.strictSame(withoutSecrets({ deep: { [name]: 'legal winner' } }), { deep: { [name]: '[redacted]' } }, name)
  }
})
