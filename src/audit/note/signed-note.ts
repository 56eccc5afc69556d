/**
 * Signed notes (C2SP signed-note v1.0.0): text, an empty line, and a line for each signature. Parsed strictly: a note
 * has exactly one encoding, so any changed bit is detected.
 */
import { sign, verify } from 'node:crypto'
import type { NoteSigner, NoteVerifier } from './note-keys.ts'

const KEY_ID_BYTES = 4
const MAX_SIGNATURES = 16
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: the format forbids them all but the line feed
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/

/** Signs a text, which must end with a line feed, with each of these keys. Ed25519 (RFC 8032) over the text. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ name, keyId, privateKey }) => {
    const signature = sign(null, Buffer.from(text, 'utf8'), privateKey)
    return `— ${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`
  })
  return `${text}\n${lines.join('')}`
}

/** The text of a note signed by this key; `null` when the note is damaged, forged, or signed only by others. */
export function openNote(note: string, { name, keyId, publicKey }: NoteVerifier): string | null {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n') || CONTROL.test(note)) return null
  const text = note.slice(0, end + 1)
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) return null
  let isSigned = false
  for (const line of lines) {
    const [, signer, encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    if (signer === undefined || bytes.toString('base64') !== encoded || bytes.length <= KEY_ID_BYTES) return null
    if (signer !== name || !bytes.subarray(0, KEY_ID_BYTES).equals(keyId)) continue
    if (!verify(null, Buffer.from(text, 'utf8'), publicKey, bytes.subarray(KEY_ID_BYTES))) return null
    isSigned = true
  }
  return isSigned ? text : null
}
