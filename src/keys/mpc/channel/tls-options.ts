/** How TLS is spoken between the processes of mpc, the same on both sides: version 1.3 alone, no session ever taken up again. */
import { constants } from 'node:crypto'
import type { SecureVersion } from 'node:tls'
import type { Identity } from '../identity.ts'
import { PROTOCOL } from './authenticate.ts'

export type TlsOptions = ReturnType<typeof tlsOptions>

export function tlsOptions(identity: Identity) {
  return {
    cert: identity.certificatePem,
    key: identity.privateKeyPem(),
    minVersion: 'TLSv1.3' as SecureVersion,
    maxVersion: 'TLSv1.3' as SecureVersion,
    ALPNProtocols: [PROTOCOL],
    requestCert: true,
    // No authority vouches for a self-signed certificate. That its holder has the key, the handshake proves all the same;
    // whether it is the one that we trust, `authenticate` judges before anything is sent or read.
    rejectUnauthorized: false,
    // Every connection proves anew who is there: without tickets, and as Node keeps no sessions for a server, none is resumed.
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}
