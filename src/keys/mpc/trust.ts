/**
 * The trusted peers of a process: a directory with `<name>.crt` for each other process, provided by an operator. Read
 * for each connection, so that replacing or removing a certificate needs no restart.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '../../core/errors.ts'
import { createFileOnce, isMissing } from '../private-files.ts'
import type { Identity } from './identity.ts'
import { isPeerName } from './peer-name.ts'

/** A certificate is public. */
const PUBLIC = 0o644

/** The path of a process's certificate. */
export function certificateFile(trustDir: string, name: string): string {
  return join(trustDir, `${name}.crt`)
}

/**
 * The certificate that a process must present for its name.
 *
 * @returns its bytes (DER), or undefined when the directory has none for this name
 * @throws Unavailable `mpc_certificate_damaged` when the file is not exactly one certificate for this name
 */
export async function readTrusted(trustDir: string, name: string): Promise<Uint8Array | undefined> {
  if (!isPeerName(name)) return undefined
  const path = certificateFile(trustDir, name)
  const pem = await readFile(path, 'latin1').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (pem === undefined) return undefined
  const certificate = parseCertificate(pem)
  if (certificate !== undefined && commonName(certificate) === name) return new Uint8Array(certificate.raw)
  throw new Unavailable(
    'mpc_certificate_damaged',
    `${path} does not contain a certificate of "${name}": copy the certificate again.`,
  )
}

/**
 * Writes a process's own certificate into the directory, for processes that share one on a single machine.
 *
 * @throws Unavailable `mpc_certificate_taken` when another certificate has this name: an operator must decide which one
 *   is right
 */
export async function publishCertificate(trustDir: string, identity: Identity): Promise<void> {
  await mkdir(trustDir, { recursive: true })
  const path = certificateFile(trustDir, identity.name)
  if (await createFileOnce(path, identity.certificatePem, PUBLIC)) return
  const there = await readTrusted(trustDir, identity.name)
  if (there !== undefined && Buffer.compare(there, identity.certificate) === 0) return
  throw new Unavailable(
    'mpc_certificate_taken',
    `${path} contains a different certificate than the one of this process (${fingerprint(identity.certificate)}): ` +
      'restore the keystore that created it, or remove the file if that identity is permanently lost.',
  )
}

/** SHA-256 of a certificate in the format of `openssl x509 -fingerprint -sha256`, for people to compare. */
export function fingerprint(certificate: Uint8Array): string {
  const digest = createHash('sha256').update(certificate).digest('hex').toUpperCase()
  return (digest.match(/../g) ?? []).join(':')
}

/** The single common name of a certificate; undefined when its subject has anything else. */
export function commonName(certificate: X509Certificate): string | undefined {
  const name = /^CN=([^\n]*)$/.exec(certificate.subject)?.[1]
  return name !== undefined && isPeerName(name) ? name : undefined
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
