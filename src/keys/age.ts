/**
 * Files in the age format (https://age-encryption.org/v1) for X25519 recipients only: every age program can read them.
 * Errors never repeat the input, which may be a secret in the wrong place.
 */
import { armor, Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { ValidationFailed } from '../core/errors.ts'

/** Bech32 of 32 bytes after `age1`. `requireRecipient` checks the checksum. */
export const RECIPIENT_PATTERN = '^age1[02-9ac-hj-np-z]{58}$'
export const RECIPIENT_RULE = 'must be an age X25519 recipient: age1 and 58 characters, as age-keygen prints it'

const SHAPE = new RegExp(RECIPIENT_PATTERN)
const ARMOR_BEGINS = '-----BEGIN AGE ENCRYPTED FILE-----'
const SECRET = /^AGE-SECRET-KEY-/i

/**
 * Validates a recipient: form, checksum and a trial encryption.
 *
 * @param field what an error names
 * @throws ValidationFailed `secret_key_given`, `invalid_recipient`
 */
export async function requireRecipient(text: string, field: string): Promise<void> {
  if (SECRET.test(text)) {
    const rule = `${field} is a secret key, which must never be sent: create a new key, and send its recipient, which begins with age1.`
    throw ValidationFailed.field(field, 'secret_key_given', rule)
  }
  try {
    if (SHAPE.test(text)) return void (await sealTo([text], new Uint8Array()))
  } catch {
    // A wrong checksum, or a point of low order, which the library refuses: reported below.
  }
  throw ValidationFailed.field(field, 'invalid_recipient', `${field} ${RECIPIENT_RULE}.`)
}

/** The bytes of an age file that any of the recipients can open. @param recipients accepted by `requireRecipient` */
export async function sealTo(recipients: readonly string[], plaintext: Uint8Array): Promise<Uint8Array> {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  return encrypter.encrypt(plaintext)
}

/** The same file as text, for JSON and mail. */
export function armored(file: Uint8Array): string {
  return armor.encode(file)
}

/** The bytes of an age file that may be armored: mail programs and `age --armor` make text of it. */
export function unarmored(file: Uint8Array): Uint8Array {
  const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('latin1')
  if (!text.trimStart().startsWith(ARMOR_BEGINS)) return file
  try {
    return armor.decode(text)
  } catch {
    return file // Damaged: opening it says so.
  }
}

export type Opening =
  | { readonly outcome: 'opened'; readonly plaintext: Uint8Array }
  /** None of the identities matches a recipient. */
  | { readonly outcome: 'not_for_us' }
  /** Not an age file, or corrupted. */
  | { readonly outcome: 'damaged' }

/** Opens an age file with whichever identity matches. @param identities from `parseIdentities` */
export async function openWith(identities: readonly string[], file: Uint8Array): Promise<Opening> {
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    return { outcome: 'opened', plaintext: await decrypter.decrypt(unarmored(file)) }
  } catch (error) {
    const notForUs = error instanceof Error && error.message.startsWith('no identity matched')
    return { outcome: notForUs ? 'not_for_us' : 'damaged' }
  }
}

/**
 * The identities of a file as age-keygen writes it: one per line, besides empty lines and comments.
 *
 * @param name the file's, for an error, which names the number of an invalid line but never its content
 * @throws ValidationFailed `encrypted_identity`, `invalid_identity`
 */
export async function parseIdentities(text: string, name: string): Promise<readonly string[]> {
  if (text.startsWith('age-encryption.org/') || text.startsWith(ARMOR_BEGINS)) {
    const rule = `${name} is encrypted: decrypt it first, as in "age -d ${name} | npm run recovery -- verify … --identity -".`
    throw ValidationFailed.field('identity', 'encrypted_identity', rule)
  }
  const identities: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const identity = line.trim()
    if (identity === '' || identity.startsWith('#')) continue
    if (!(await isIdentity(identity))) {
      const rule = `${name}: line ${index + 1} is not an age identity, which begins with AGE-SECRET-KEY-1.`
      throw ValidationFailed.field('identity', 'invalid_identity', rule)
    }
    identities.push(identity)
  }
  if (identities.length > 0) return identities
  throw ValidationFailed.field('identity', 'invalid_identity', `${name} has no age identity.`)
}

async function isIdentity(text: string): Promise<boolean> {
  if (!text.startsWith('AGE-SECRET-KEY-1')) return false
  try {
    return (await identityToRecipient(text)) !== ''
  } catch {
    // The library's error quotes the identity and is therefore dropped.
    return false
  }
}

/** Removes identities from a text that may quote one, such as a misplaced command line argument. */
export function withoutIdentities(text: string): string {
  return text.replaceAll(/AGE-SECRET-KEY-[A-Z0-9-]*/gi, '[secret key]')
}

export type Identity = { readonly identity: string; readonly recipient: string }

/** A new identity and its recipient. */
export async function createIdentity(): Promise<Identity> {
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}
