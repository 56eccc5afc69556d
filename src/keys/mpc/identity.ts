/**
 * The identity of an mpc process: a name, an Ed25519 key and a self-signed certificate over both. Created on first
 * start, sealed under the process's key-encryption key, and never changed.
 */
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import type { Kek } from '../kek.ts'
import type { Keystore } from '../keystore.ts'
import { type Envelope, open, type SecretId, seal } from '../sealed-box.ts'
import { makeCertificate } from './certificate.ts'
import { isPeerName, PEER_NAME_RULE } from './peer-name.ts'

const PURPOSE = 'mpc-identity'
/** The PKCS #8 block of the bundle; the certificate follows it. */
const PRIVATE_KEY = /^-----BEGIN PRIVATE KEY-----\n[\s\S]+?-----END PRIVATE KEY-----\n/

export type Identity = {
  readonly name: string
  /** Public. */
  readonly certificatePem: string
  /** The certificate's bytes, which peers pin. */
  readonly certificate: Uint8Array
  /** For TLS only. A method, so that logging the identity or converting it to JSON does not show the key. */
  readonly privateKeyPem: () => string
}

/**
 * Opens the identity of a process, creating it when the keystore has none. Concurrent processes of the same name get
 * the same one.
 *
 * @param now start of the certificate's validity if it is created now: milliseconds since the epoch
 * @throws RangeError for an invalid process name
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` when the existing one cannot be opened: it is not
 *   created again, since peers trust the one that they know
 */
export async function openIdentity({
  name,
  keystore,
  kek,
  now = Date.now,
}: {
  readonly name: string
  readonly keystore: Keystore
  readonly kek: Kek
  readonly now?: () => number
}): Promise<Identity> {
  if (!isPeerName(name)) throw new RangeError(`the name of a process must be ${PEER_NAME_RULE}`)
  const id: SecretId = { tenantId: name, purpose: PURPOSE }
  const envelope = (await keystore.read(id)) ?? (await keystore.createOnce(id, sealNew()))
  const bundle = open(kek, id, envelope)
  try {
    return readBundle(name, Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength).toString('latin1'))
  } finally {
    bundle.fill(0)
  }

  function sealNew(): Envelope {
    const made = makeBundle(name, new Date(now()))
    try {
      return seal(kek, id, made)
    } finally {
      made.fill(0)
    }
  }
}

function makeBundle(name: string, notBefore: Date): Uint8Array {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const certificate = new X509Certificate(makeCertificate({ name, publicKey, privateKey, notBefore }))
  return Buffer.from(`${privateKey.export({ type: 'pkcs8', format: 'pem' })}${certificate.toString()}`, 'latin1')
}

function readBundle(name: string, bundle: string): Identity {
  const privateKeyPem = PRIVATE_KEY.exec(bundle)?.[0]
  if (privateKeyPem === undefined) throw new RangeError('the sealed file is not an identity')
  const certificatePem = bundle.slice(privateKeyPem.length)
  const certificate = new Uint8Array(new X509Certificate(certificatePem).raw)
  return { name, certificatePem, certificate, privateKeyPem: () => privateKeyPem }
}
