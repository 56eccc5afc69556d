/** Sealed secrets: they open only for their owner, and not if a single bit differs. */
import { createDecipheriv, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { decodeKek, type Kek, parseKek } from '../../src/keys/kek.ts'
import type { Keystore } from '../../src/keys/keystore.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { wipeBytes } from '../../src/keys/mpc/engine-calls.ts'
import type { EngineThread } from '../../src/keys/mpc/engine-thread.ts'
import { withShare } from '../../src/keys/mpc/handle-share.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { createLoadedShares } from '../../src/keys/mpc/loaded-shares.ts'
import { openShare, resealShare, sealShare } from '../../src/keys/mpc/share-file.ts'
import type { ShareStore } from '../../src/keys/mpc/share-store.ts'
import { type Envelope, open, parseEnvelope, rewrap, seal } from '../../src/keys/sealed-box.ts'
import { restoreSeeds } from '../../src/keys/tenant-seeds.ts'

const freshKek = (): Kek => parseKek(randomBytes(32).toString('base64'))
const id = { tenantId: 'acme', purpose: 'hd-seed' }

t.test('a sealed secret opens to the same bytes, and no two envelopes are equal', (t) => {
  const kek = freshKek()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (secret) => {
      const [one, other] = [seal(kek, id, secret), seal(kek, id, secret)]
      t.not(one.nonce, other.nonce)
      t.equal(Buffer.compare(open(kek, id, parseEnvelope(JSON.parse(JSON.stringify(one)), id)), secret), 0)
    }),
  )
  t.end()
})

t.test('a changed byte anywhere in a stored envelope is refused', (t) => {
  const kek = freshKek()
  const stored = Buffer.from(JSON.stringify(seal(kek, id, randomBytes(32))))
  for (const [place, byte] of stored.entries()) {
    for (let bit = 0; bit < 8; bit += 1) {
      const changed = Buffer.from(stored)
      changed[place] = byte ^ (1 << bit)
      const text = changed.toString('latin1')
      t.throws(
        () => open(kek, id, parseEnvelope(JSON.parse(text), id)),
        `a flipped bit ${bit} of byte ${place} is refused`,
      )
    }
  }
  t.end()
})

t.test('an envelope cut short, padded, or of another version is refused as damaged', (t) => {
  const kek = freshKek()
  const envelope = seal(kek, id, randomBytes(32))
  const wrong = [
    null,
    'text',
    [],
    { ...envelope, version: 2 },
    { ...envelope, note: '' },
    { ...envelope, nonce: envelope.nonce.slice(4) },
    // GCM would accept a tag of four bytes, which an attacker can guess.
    { ...envelope, tag: Buffer.from(envelope.tag, 'base64').subarray(0, 4).toString('base64') },
    { ...envelope, ciphertext: '' },
    { ...envelope, tag: undefined },
  ]
  for (const value of wrong) {
    t.throws(
      () => open(kek, id, parseEnvelope(value, id)),
      { code: 'sealed_secret_damaged', retryable: true },
      inspect(value),
    )
  }
  t.end()
})

t.test('an envelope in the place of another tenant or purpose is refused', (t) => {
  const kek = freshKek()
  const envelope = seal(kek, id, randomBytes(32))
  for (const other of [
    { ...id, tenantId: 'acm' },
    { ...id, purpose: 'backup' },
    { tenantId: 'acmehd', purpose: '-seed' },
  ]) {
    t.throws(() => open(kek, other, envelope), { code: 'sealed_secret_damaged' })
  }
  t.end()
})

t.test('another key is distinguished from damage, by key ids that reveal nothing', (t) => {
  const [kek, other] = [freshKek(), freshKek()]
  const envelope = seal(kek, id, randomBytes(32))
  t.throws(() => open(other, id, envelope), { code: 'keystore_key_wrong', message: /KEYSTORE_KEY/ })
  t.throws(() => open(other, id, { ...envelope, kek: other.id }), { code: 'sealed_secret_damaged' })
  t.end()
})

t.test('rewrapping keeps the secret, and only the new key opens it', (t) => {
  const [from, to] = [freshKek(), freshKek()]
  const secret = randomBytes(32)
  const rewrapped = rewrap(from, to, id, seal(from, id, secret))
  t.equal(Buffer.compare(open(to, id, rewrapped), secret), 0)
  t.throws(() => open(from, id, rewrapped), { code: 'keystore_key_wrong' })
  t.end()
})

t.test('KEYSTORE_KEY is 32 bytes in base64, and a wrong one is named but never repeated', (t) => {
  const good = randomBytes(32).toString('base64')
  t.equal(parseKek(good).id, parseKek(good).id)
  const wrong = [
    '',
    'secret',
    good.slice(0, -1),
    `${good}\n`,
    ` ${good}`,
    randomBytes(31).toString('base64'),
    randomBytes(33).toString('base64'),
    randomBytes(32).toString('hex'),
    `${'A'.repeat(42)}B=`,
    '_'.repeat(43).concat('='),
  ]
  for (const text of wrong) {
    t.equal(decodeKek(text), undefined)
    try {
      parseKek(text)
      t.fail(`KEYSTORE_KEY was accepted: ${text}`)
    } catch (error) {
      t.match(error, {
        code: 'invalid_setting',
        setting: 'KEYSTORE_KEY',
        message: /^KEYSTORE_KEY must be 32 bytes in base64/,
      })
      if (text !== '') t.notOk(inspect(error).includes(text))
    }
  }
  t.end()
})

t.test('a key is visible neither in JSON nor when it is inspected', (t) => {
  const bytes = randomBytes(32)
  const kek = parseKek(bytes.toString('base64'))
  for (const shown of [JSON.stringify(kek), inspect(kek, { depth: 9, showHidden: true }), `${kek.key}`]) {
    for (const form of ['hex', 'base64'] as const) t.notOk(shown.includes(bytes.toString(form)))
  }
  t.end()
})

/** Every plaintext decrypted from here on. */
function decrypted(t: Test): Uint8Array[] {
  const made: Uint8Array[] = []
  const prototype = Object.getPrototypeOf(createDecipheriv('aes-256-gcm', randomBytes(32), randomBytes(12)))
  const { update } = prototype
  t.intercept(prototype, 'update', {
    value(this: unknown, ...args: unknown[]) {
      const plaintext = update.apply(this, args)
      made.push(plaintext)
      return plaintext
    },
  })
  return made
}

const isWiped = (bytes: Uint8Array) => bytes.every((byte) => byte === 0)

t.test('a secret opened only to be sealed again or compared is wiped', async (t) => {
  const made = decrypted(t)
  const [from, to] = [freshKek(), freshKek()]
  rewrap(from, to, id, seal(from, id, randomBytes(32)))
  t.equal(made.length, 2, 'rewrap opens the old box, then the new one to verify it')

  const shareId = { keyId: 'k', party: 1, generation: 'g' }
  const facts = { threshold: 2, parties: 3, publicKey: '0x02', address: '0x12' }
  const share = randomBytes(500)
  const resealed = resealShare(from, to, shareId, sealShare(from, shareId, { share, facts }))
  t.equal(made.length, 4)

  const stored = new Map<string, Envelope>()
  const keystore: Keystore = {
    read: async ({ purpose }) => stored.get(purpose),
    createOnce: async ({ purpose }, envelope) => {
      if (!stored.has(purpose)) stored.set(purpose, envelope)
      return stored.get(purpose) ?? envelope
    },
    createAll: async (secrets) => {
      for (const {
        id: { purpose },
        envelope,
      } of secrets)
        stored.set(purpose, envelope)
    },
    list: async () => [],
    kekIds: async () => [],
  }
  const first = await openIdentity({ name: 'party-1', keystore, kek: from })
  t.equal((await openIdentity({ name: 'party-1', keystore, kek: from })).certificatePem, first.certificatePem)
  const seed = randomBytes(32)
  const restore = (entropy: Uint8Array) => restoreSeeds({ keystore, kek: from }, new Map([['acme', entropy]]))
  t.strictSame(await restore(seed), ['acme'])
  t.strictSame(await restore(seed), [])
  await t.rejects(restore(randomBytes(32)), { code: 'seed_differs' })
  t.equal(made.length, 9)
  t.ok(made.every(isWiped), 'every opened secret is wiped')
  t.ok(resealed !== null && share.equals(openShare(to, shareId, resealed).share))
})

t.test('a share is wiped once the engine has it, and when the engine fails', async (t) => {
  const engine: EngineThread = {
    run: async () => {
      throw new Error('the engine ended')
    },
    generation: () => 1,
    close: async () => undefined,
  }
  const [one, other] = [randomBytes(500), randomBytes(500)]
  const store = { load: async () => ({ share: one }) } as unknown as ShareStore
  const key = { keyId: 'k', refreshId: null } as unknown as JointKey
  await t.rejects(createLoadedShares({ me: 1, engine, store }).numberOf(key), /the engine ended/)
  await t.rejects(
    withShare(engine, other, async () => undefined),
    /the engine ended/,
  )
  t.ok(isWiped(one) && isWiped(other))
  const answer = randomBytes(64).buffer.slice(0)
  const results = [
    { ok: true, value: { outgoing: new Map([[2, new Uint8Array(answer, 8, 8)]]), result: Buffer.alloc(3, 1) } },
  ]
  wipeBytes(results)
  t.ok(isWiped(new Uint8Array(answer)), 'the whole buffer of the answer of the engine is wiped')
  t.ok(isWiped(results[0]?.value.result ?? Buffer.alloc(1, 1)))
})
