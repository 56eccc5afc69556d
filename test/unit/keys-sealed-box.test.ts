/** Sealed secrets: they open for whom they were sealed, and for nothing that differs by a single bit. */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { decodeKek, type Kek, parseKek } from '../../src/keys/kek.ts'
import { open, parseEnvelope, rewrap, seal } from '../../src/keys/sealed-box.ts'

const freshKek = (): Kek => parseKek(randomBytes(32).toString('base64'))
const id = { tenantId: 'acme', purpose: 'hd-seed' }

t.test('what was sealed opens to the same bytes, and no two seals look alike', (t) => {
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
      t.throws(() => open(kek, id, parseEnvelope(JSON.parse(text), id)), `bit ${bit} of byte ${place}`)
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
    // A tag of four bytes is one that GCM allows and that an attacker can guess.
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

t.test('another key is told apart from damage, by names that give nothing away', (t) => {
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
      t.fail(`taken: ${text}`)
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

t.test('a key shows itself neither in JSON nor when it is inspected', (t) => {
  const bytes = randomBytes(32)
  const kek = parseKek(bytes.toString('base64'))
  for (const shown of [JSON.stringify(kek), inspect(kek, { depth: 9, showHidden: true }), `${kek.key}`]) {
    for (const form of ['hex', 'base64'] as const) t.notOk(shown.includes(bytes.toString(form)))
  }
  t.end()
})
