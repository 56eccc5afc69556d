/**
 * Who a process of mpc is to the others: a name, an Ed25519 key and a self-signed certificate over both. Made on the very
 * first start, kept sealed under the process's key-encryption key, and the same for ever after.
 */
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import type { Kek } from '../kek.ts'
import type { Keystore } from '../keystore.ts'
import { type Envelope, open, type SecretId, seal } from '../sealed-box.ts'
import { makeCertificate } from './certificate.ts'
import { isPeerName, PEER_NAME_RULE } from './peer-name.ts'

const PURPOSE = 'mpc-identity'
/** The PKCS #8 block of the bundle; what follows it is the certificate. */
const PRIVATE_KEY = /^-----BEGIN PRIVATE KEY-----\n[\s\S]+?-----END PRIVATE KEY-----\n/

export type Identity = {
  readonly name: string
  /** For everybody to see. */
  readonly certificatePem: string
  /** The certificate's bytes: what others pin. */
  readonly certificate: Uint8Array
  /** For TLS alone. A method, so that an identity that is logged or put into JSON shows no key. */
  readonly privateKeyPem: () => string
}

/**
 * Opens the identity of a process, making it when the keystore has none. Processes of the same name that race end with the
 * same one.
 *
 * @param now when the certificate begins, if it is made now: milliseconds since the epoch
 * @throws RangeError for a name that no process can have
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` when there is one that cannot be opened: it is not made anew,
 *   since the others trust the one that they know
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
  if (!isPeerName(name)) throw new RangeError(`the name of a process is ${PEER_NAME_RULE}`)
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
  if (privateKeyPem === undefined) throw new RangeError('the sealed identity holds something else than an identity')
  const certificatePem = bundle.slice(privateKeyPem.length)
  const certificate = new Uint8Array(new X509Certificate(certificatePem).raw)
  return { name, certificatePem, certificate, privateKeyPem: () => privateKeyPem }
}
