/**
 * Authenticates the other side of a TLS connection. The handshake proves that it holds the key of its certificate; here
 * the certificate must be identical, byte for byte, to the one stored for its name.
 */
import type { TLSSocket } from 'node:tls'
import { certificateFile, commonName, readTrusted } from '../trust.ts'

/** Negotiated by TLS (ALPN), so that a process of another version is refused before any data is sent. */
export const PROTOCOL = 'bursar-mpc/1'

export type Authenticated = { readonly name: string; readonly certificate: Uint8Array }
export type Refused = {
  readonly refused: string
  readonly claimed?: string
  /** The path of the certificate that was expected, or is missing. */
  readonly file?: string
}
export type PeerVerdict = Authenticated | Refused

/**
 * Checks the other side. Sends nothing and reads nothing.
 *
 * @param expects whether a peer of this name is allowed
 */
export async function authenticate(
  socket: TLSSocket,
  trustDir: string,
  expects: (name: string) => boolean,
): Promise<PeerVerdict> {
  if (socket.alpnProtocol !== PROTOCOL) return { refused: 'another_protocol' }
  const shown = socket.getPeerX509Certificate()
  if (shown === undefined) return { refused: 'no_certificate' }
  const name = commonName(shown)
  if (name === undefined) return { refused: 'no_name' }
  if (!expects(name)) return { refused: 'name_not_expected', claimed: name }
  const trusted = await readTrusted(trustDir, name)
  const told = { claimed: name, file: certificateFile(trustDir, name) }
  if (trusted === undefined) return { refused: 'no_certificate_trusted', ...told }
  if (Buffer.compare(shown.raw, trusted) !== 0) return { refused: 'certificate_not_trusted', ...told }
  return { name, certificate: trusted }
}
