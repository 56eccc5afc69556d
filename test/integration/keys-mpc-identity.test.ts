/** The identity of a process is created once, stored sealed, and trusted by its exact bytes. */
import { randomBytes, X509Certificate } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { fingerprint, publishCertificate, readTrusted } from '../../src/keys/mpc/trust.ts'
import { freshIdentity, freshKek, temporaryDirectory } from '../support/mpc-processes.ts'

t.test('an identity is created once on the first start, also under concurrency', async (t) => {
  const keystore = await openDirectoryKeystore(await temporaryDirectory(t))
  const kek = freshKek()
  const racers = await Promise.all(Array.from({ length: 5 }, () => openIdentity({ name: 'party-1', keystore, kek })))
  const later = await openIdentity({ name: 'party-1', keystore, kek })
  t.equal(new Set([...racers, later].map(({ certificatePem }) => certificatePem)).size, 1)
  t.equal(new Set([...racers, later].map(({ privateKeyPem }) => privateKeyPem())).size, 1)
  const other = await openIdentity({ name: 'party-2', keystore, kek })
  t.not(other.privateKeyPem(), later.privateKeyPem())
})

t.test('the certificate names its holder, is self-signed, signs no other, and never expires', async (t) => {
  const keystore = await openDirectoryKeystore(await temporaryDirectory(t))
  const now = () => Date.parse('2030-02-01T00:00:00Z')
  const identity = await openIdentity({ name: 'party-1', keystore, kek: freshKek(), now })
  const certificate = new X509Certificate(identity.certificatePem)
  t.equal(Buffer.compare(certificate.raw, identity.certificate), 0)
  t.equal(certificate.subject, 'CN=party-1')
  t.equal(certificate.issuer, 'CN=party-1')
  t.ok(certificate.verify(certificate.publicKey))
  t.equal(certificate.publicKey.asymmetricKeyType, 'ed25519')
  t.notOk(certificate.ca)
  t.equal(certificate.validFrom, 'Feb  1 00:00:00 2030 GMT')
  t.equal(certificate.validTo, 'Dec 31 23:59:59 9999 GMT')
  t.equal(fingerprint(identity.certificate), certificate.fingerprint256)
})

t.test('the private key is stored only sealed, and is never printed', async (t) => {
  const directory = await temporaryDirectory(t)
  const keystore = await openDirectoryKeystore(directory)
  const identity = await openIdentity({ name: 'party-1', keystore, kek: freshKek() })
  const secret = identity.privateKeyPem().split('\n')[1] ?? ''
  t.ok(secret.length > 40)
  for (const name of await readdir(directory)) {
    t.notOk((await readFile(join(directory, name), 'utf8')).includes(secret))
    t.equal((await stat(join(directory, name))).mode & 0o777, 0o600)
  }
  for (const shown of [JSON.stringify(identity), inspect(identity, { depth: 9, showHidden: true })]) {
    t.notOk(shown.includes(secret))
  }
})

t.test('an identity sealed by another key, or of another process, is refused and not replaced', async (t) => {
  const directory = await temporaryDirectory(t)
  const keystore = await openDirectoryKeystore(directory)
  const kek = freshKek()
  await openIdentity({ name: 'party-1', keystore, kek })
  const path = join(directory, 'party-1.mpc-identity.sealed.json')
  const before = await readFile(path)
  await t.rejects(openIdentity({ name: 'party-1', keystore, kek: freshKek() }), { code: 'keystore_key_wrong' })
  t.ok(before.equals(await readFile(path)))
  await writeFile(join(directory, 'party-2.mpc-identity.sealed.json'), before)
  await t.rejects(openIdentity({ name: 'party-2', keystore, kek }), { code: 'sealed_secret_damaged' })
})

t.test('a name that could leave the directory is refused', async (t) => {
  const keystore = await openDirectoryKeystore(await temporaryDirectory(t))
  for (const name of ['', 'Party', '1party', 'a/b', '../a', 'a.b', 'a_b', 'a'.repeat(33)]) {
    await t.rejects(openIdentity({ name, keystore, kek: freshKek() }), RangeError, name)
    t.equal(await readTrusted('/', name), undefined)
  }
})

t.test('a certificate is published once, is readable by all, and never replaces another', async (t) => {
  const trustDir = join(await temporaryDirectory(t), 'not', 'there', 'yet')
  const one = await freshIdentity(t, 'party-1')
  await publishCertificate(trustDir, one)
  await publishCertificate(trustDir, one)
  const path = join(trustDir, 'party-1.crt')
  t.equal(await readFile(path, 'utf8'), one.certificatePem)
  t.equal((await stat(path)).mode & 0o444, 0o444)
  const other = await freshIdentity(t, 'party-1')
  await t.rejects(publishCertificate(trustDir, other), {
    code: 'mpc_certificate_taken',
    message: new RegExp(fingerprint(other.certificate)),
  })
  t.equal(await readFile(path, 'utf8'), one.certificatePem)
  t.equal(Buffer.compare((await readTrusted(trustDir, 'party-1')) ?? Buffer.alloc(0), one.certificate), 0)
})

t.test('a file without a certificate, or with that of another name, is reported by its path', async (t) => {
  const trustDir = await temporaryDirectory(t)
  t.equal(await readTrusted(trustDir, 'party-1'), undefined)
  const two = await freshIdentity(t, 'party-2')
  for (const contents of ['', 'party-1', randomBytes(300), two.certificatePem, two.certificatePem.slice(0, 100)]) {
    await writeFile(join(trustDir, 'party-1.crt'), contents)
    await t.rejects(readTrusted(trustDir, 'party-1'), { code: 'mpc_certificate_damaged', message: /party-1\.crt/ })
  }
})
