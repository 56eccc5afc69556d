/** TLS options between mpc processes, the same on both sides: version 1.3 only, no session resumption. */
import { constants } from 'node:crypto'
import type { SecureVersion } from 'node:tls'
import type { Identity } from '../identity.ts'
import { PROTOCOL } from './authenticate.ts'

export function tlsOptions(identity: Identity) {
  return {
    cert: identity.certificatePem,
    key: identity.privateKeyPem(),
    minVersion: 'TLSv1.3' as SecureVersion,
    maxVersion: 'TLSv1.3' as SecureVersion,
    ALPNProtocols: [PROTOCOL],
    requestCert: true,
    // Self-signed certificates have no authority. The handshake still proves possession of the key; `authenticate`
    // checks whether the certificate is the trusted one before anything is sent or read.
    rejectUnauthorized: false,
    // Every connection authenticates again: without tickets, and since Node keeps no server sessions, none is resumed.
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}
