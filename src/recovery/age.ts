/**
 * Files of age (https://age-encryption.org/v1), to X25519 recipients and nobody else: every age program of every age reads
 * them. No error of this file repeats what it was given: it may be a secret in the wrong place.
 */
import { armor, Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { ValidationFailed } from '../core/errors.ts'

/** Bech32 of 32 bytes behind `age1`. Whether its checksum is right, `requireRecipient` tells. */
export const RECIPIENT_PATTERN = '^age1[02-9ac-hj-np-z]{58}$'
export const RECIPIENT_RULE = 'must be an age X25519 recipient: age1 and 58 characters, as age-keygen prints it'

const SHAPE = new RegExp(RECIPIENT_PATTERN)
const SECRET = /^AGE-SECRET-KEY-/i

/**
 * Accepts a recipient to which something can be sealed: by its shape, its checksum and a trial.
 *
 * @param field what an error names
 * @throws ValidationFailed `secret_key_given`, `invalid_recipient`
 */
export async function requireRecipient(text: string, field: string): Promise<void> {
  if (SECRET.test(text)) {
    const rule = `${field} is a secret key, which must stay with its owner: send the recipient, which begins with age1, and make a new key.`
    throw ValidationFailed.field(field, 'secret_key_given', rule)
  }
  try {
    if (SHAPE.test(text)) return void (await sealTo([text], new Uint8Array()))
  } catch {
    // A wrong checksum, or a point of low order, to which the library refuses to seal: told below.
  }
  throw ValidationFailed.field(field, 'invalid_recipient', `${field} ${RECIPIENT_RULE}.`)
}

/** The bytes of an age file that any of the recipients opens. @param recipients that `requireRecipient` accepted */
export async function sealTo(recipients: readonly string[], plaintext: Uint8Array): Promise<Uint8Array> {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  return encrypter.encrypt(plaintext)
}

/** The same file as text, for JSON and mail. */
export function armored(file: Uint8Array): string {
  return armor.encode(file)
}

export type Opening =
  | { readonly outcome: 'opened'; readonly plaintext: Uint8Array }
  /** None of the identities is among the recipients. */
  | { readonly outcome: 'not_for_us' }
  /** It is no age file, or not as it was written. */
  | { readonly outcome: 'damaged' }

/** Opens an age file with whichever identity fits. @param identities that `parseIdentities` gave */
export async function openWith(identities: readonly string[], file: Uint8Array): Promise<Opening> {
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    return { outcome: 'opened', plaintext: await decrypter.decrypt(file) }
  } catch (error) {
    const notForUs = error instanceof Error && error.message.startsWith('no identity matched')
    return { outcome: notForUs ? 'not_for_us' : 'damaged' }
  }
}

/**
 * The identities of a file as age-keygen writes it: a line each, beside empty lines and comments.
 *
 * @param name the file's, for an error, which tells the number of a bad line and never the line
 * @throws ValidationFailed `encrypted_identity`, `invalid_identity`
 */
export async function parseIdentities(text: string, name: string): Promise<readonly string[]> {
  if (text.startsWith('age-encryption.org/') || text.startsWith('-----BEGIN AGE ENCRYPTED FILE-----')) {
    const rule = `${name} is encrypted itself: open it first, as in "age -d ${name} | npm run recovery -- verify … --identity -".`
    throw ValidationFailed.field('identity', 'encrypted_identity', rule)
  }
  const identities: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const identity = line.trim()
    if (identity === '' || identity.startsWith('#')) continue
    if (!(await isIdentity(identity))) {
      const rule = `${name}: line ${index + 1} is no age identity, which begins with AGE-SECRET-KEY-1.`
      throw ValidationFailed.field('identity', 'invalid_identity', rule)
    }
    identities.push(identity)
  }
  if (identities.length > 0) return identities
  throw ValidationFailed.field('identity', 'invalid_identity', `${name} holds no age identity.`)
}

async function isIdentity(text: string): Promise<boolean> {
  if (!text.startsWith('AGE-SECRET-KEY-1')) return false
  try {
    return (await identityToRecipient(text)) !== ''
  } catch {
    // The library's error quotes the identity: it goes no further.
    return false
  }
}

/** A text that may quote what somebody put in the wrong place, such as a word of a command line. */
export function withoutIdentities(text: string): string {
  return text.replaceAll(/AGE-SECRET-KEY-[A-Z0-9-]*/gi, '[secret key]')
}

export type Identity = { readonly identity: string; readonly recipient: string }

/** A new identity and the recipient that belongs to it. */
export async function createIdentity(): Promise<Identity> {
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}
