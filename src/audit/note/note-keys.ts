/**
 * Keys that sign notes, in the encodings of golang.org/x/mod/sumdb/note, which transparency log tools read:
 * `name+id+key` for public keys, `PRIVATE+KEY+name+id+seed` for secret ones.
 */
import { createPrivateKey, createPublicKey, hash as digest, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** The number of Ed25519 in C2SP signed-note. */
const ED25519 = 0x01
const KEY_BYTES = 32
const KEY_ID_BYTES = 4
const NAME = /^[!-*,-~]{1,200}$/
const PUBLIC = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/
const PRIVATE = /^PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/
/** The DER prefix of the 32 bytes of an Ed25519 key (RFC 8410 § 4 and § 7). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export type NoteVerifier = {
  readonly name: string
  /** Four bytes that distinguish keys with the same name. */
  readonly keyId: Buffer
  readonly publicKey: KeyObject
  /** The public key as one line of text. */
  readonly encoded: string
}
export type NoteSigner = NoteVerifier & { readonly privateKey: KeyObject }

/** Whether a text is a valid key name: visible ASCII without spaces and plus signs, at most 200 characters. */
function isKeyName(name: string): boolean {
  return NAME.test(name)
}

/** Creates a key and returns its secret text. @param nameOf returns its name, which may depend on the public key */
export function makeNoteKey(nameOf: (publicKey: Uint8Array) => string): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  const publicKey = rawPublicKey(createPublicKey(privateKey))
  const name = nameOf(publicKey)
  const key = Buffer.concat([Buffer.from([ED25519]), der.subarray(PKCS8.length)])
  const text = `PRIVATE+KEY+${name}+${keyIdOf(name, publicKey).toString('hex')}+${key.toString('base64')}`
  der.fill(0)
  key.fill(0)
  return text
}

/** Parses a secret text; `undefined` when it is malformed. The bytes are wiped; the text cannot be. */
export function parseNoteSigner(text: string): NoteSigner | undefined {
  const [, name, id, encoded] = PRIVATE.exec(text) ?? []
  const seed = keyBytes(encoded)
  if (name === undefined || seed === undefined || !isKeyName(name)) return undefined
  const der = Buffer.concat([PKCS8, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  der.fill(0)
  seed.fill(0)
  const verifier = verifierOf(name, rawPublicKey(createPublicKey(privateKey)))
  return verifier.keyId.toString('hex') === id ? { ...verifier, privateKey } : undefined
}

/** Parses a public text; `undefined` when it is malformed: its id is a checksum of name and key. */
export function parseNoteVerifier(text: string): NoteVerifier | undefined {
  const [, name, id, encoded] = PUBLIC.exec(text) ?? []
  const raw = keyBytes(encoded)
  if (name === undefined || raw === undefined || !isKeyName(name)) return undefined
  const verifier = verifierOf(name, raw)
  return verifier.keyId.toString('hex') === id ? verifier : undefined
}

function verifierOf(name: string, raw: Buffer): NoteVerifier {
  const keyId = keyIdOf(name, raw)
  const key = Buffer.concat([Buffer.from([ED25519]), raw]).toString('base64')
  return {
    name,
    keyId,
    publicKey: createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' }),
    encoded: `${name}+${keyId.toString('hex')}+${key}`,
  }
}

function keyBytes(encoded: string | undefined): Buffer | undefined {
  const bytes = Buffer.from(encoded ?? '', 'base64')
  const isKey = bytes.length === 1 + KEY_BYTES && bytes[0] === ED25519 && bytes.toString('base64') === encoded
  return isKey ? bytes.subarray(1) : undefined
}

/** First four bytes of SHA-256(name || 0x0A || 0x01 || public key). */
function keyIdOf(name: string, publicKey: Uint8Array): Buffer {
  const input = Buffer.concat([Buffer.from(`${name}\n`, 'utf8'), Buffer.from([ED25519]), publicKey])
  return Buffer.from(digest('sha256', input, 'buffer')).subarray(0, KEY_ID_BYTES)
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(SPKI.length)
}
