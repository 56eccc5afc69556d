/**
 * Certificates at the start of an mpc process. In the sandbox each process publishes its own; in production an operator
 * copies them, and each missing one is reported.
 */
import type { Context } from '../context.ts'
import { Unavailable } from '../core/errors.ts'
import type { Identity } from '../keys/mpc/identity.ts'
import { certificateFile, fingerprint, publishCertificate, readTrusted } from '../keys/mpc/trust.ts'

/**
 * A missing or damaged certificate does not prevent the start: it is used as soon as it is valid.
 *
 * @param peers whose certificates this process needs
 */
export async function prepareTrust(
  { config, logger }: Pick<Context, 'config' | 'logger'>,
  {
    trustDir,
    identity,
    peers,
  }: { readonly trustDir: string; readonly identity: Identity; readonly peers: readonly string[] },
): Promise<void> {
  if (config.sandbox) return publishCertificate(trustDir, identity)
  logger.info(
    { name: identity.name, fingerprint: fingerprint(identity.certificate) },
    'this certificate identifies the process; its peers need a copy (npm run mpc -- certificate prints it)',
  )
  for (const peer of peers) {
    const file = certificateFile(trustDir, peer)
    try {
      if ((await readTrusted(trustDir, peer)) !== undefined) continue
      logger.warn({ peer, file }, 'the certificate of a peer is missing; cannot connect to the peer without it')
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      logger.warn(
        { peer, file, err: error },
        'the certificate of a peer is damaged; cannot connect to the peer until the file is replaced',
      )
    }
  }
}
