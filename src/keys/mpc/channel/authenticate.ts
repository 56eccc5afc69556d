/**
 * Who is at the other end of a TLS connection. The handshake has proved that the other side holds the key of the certificate
 * that it showed; here the certificate must be, byte for byte, the one that we keep for the name in it.
 */
import type { TLSSocket } from 'node:tls'
import { certificateFile, commonName, readTrusted } from '../trust.ts'

/** Told apart by TLS itself (ALPN), so that a process of another version is refused before it says anything. */
export const PROTOCOL = 'bursar-mpc/1'

export type Authenticated = { readonly name: string; readonly certificate: Uint8Array }
export type Refused = {
  readonly refused: string
  readonly claimed?: string
  /** Where the certificate lies that the other side should have shown, or should lie. */
  readonly file?: string
}
export type Verdict = Authenticated | Refused

/**
 * Judges the other side. Sends nothing and reads nothing.
 *
 * @param expects whether a peer of this name may be there at all
 */
export async function authenticate(
  socket: TLSSocket,
  trustDir: string,
  expects: (name: string) => boolean,
): Promise<Verdict> {
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
