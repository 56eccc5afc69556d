/**
 * The key that signs checkpoints: a file that only its owner can read, and beside it the public key. It is created
 * once; a log with signed checkpoints gets another key only through a checkpoint that both keys sign.
 */
import { createHash } from 'node:crypto'
import { chmod, readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { InvalidSetting, Unavailable } from '../../core/errors.ts'
import {
  createFileOnce,
  isMissing,
  preparePrivateDirectory,
  replaceFile,
  syncDirectory,
} from '../../keys/private-files.ts'
import {
  makeNoteKey,
  type NoteSigner,
  type NoteVerifier,
  parseNoteSigner,
  parseNoteVerifier,
} from '../note/note-keys.ts'

/** The suffix of the public key's file, after the name of the key file. */
export const PUBLIC_SUFFIX = '.pub'
/** The default name of the public key's file, used to check a proof when no key is given. */
export const PUBLIC_KEY_NAME = `audit.key${PUBLIC_SUFFIX}`
const WORLD_READABLE = 0o644
const ORIGIN_DIGITS = 16

/**
 * Opens the key, or creates it when there is none and nothing was signed yet.
 *
 * @throws Unavailable `audit_key_missing` or `audit_key_damaged`; InvalidSetting when the key's name differs from the
 *   setting
 */
export async function openAuditKey(
  {
    keyFile,
    origin,
  }: {
    readonly keyFile: string
    /** The name of the log in its checkpoints; `null` to derive it from the key. */
    readonly origin: string | null
  },
  wasUsed: () => Promise<boolean>,
): Promise<NoteSigner> {
  const found = await readKey(keyFile)
  if (found === undefined && (await wasUsed())) {
    throw new Unavailable(
      'audit_key_missing',
      `${keyFile} is missing, but checkpoints were signed with this key: restore the file from a backup, or run this on the machine that has it.`,
    )
  }
  if (found === undefined) {
    await preparePrivateDirectory(dirname(keyFile))
    await createFileOnce(keyFile, `${makeNoteKey((publicKey) => origin ?? originOf(publicKey))}\n`)
  }
  const signer = found ?? (await readKey(keyFile))
  if (signer === undefined)
    throw new Unavailable('audit_key_missing', `${keyFile} was removed while it was being opened.`)
  if (origin !== null && signer.name !== origin) {
    throw new InvalidSetting('AUDIT_ORIGIN', `must be ${signer.name}, the name of the key in ${keyFile}, or be unset`)
  }
  await publish(keyFile, signer)
  return signer
}

/** The file of the key that will replace the current one. */
function nextFile(keyFile: string): string {
  return `${keyFile}.next`
}

/** The successor of a key, with the same name: created now, unless an interrupted rotation already did. */
export async function openNextKey(keyFile: string, signer: NoteSigner): Promise<NoteSigner> {
  await createFileOnce(nextFile(keyFile), `${makeNoteKey(() => signer.name)}\n`)
  const next = await readKey(nextFile(keyFile))
  if (next === undefined)
    throw new Unavailable('audit_key_missing', `${nextFile(keyFile)} was removed in the meantime.`)
  return next
}

/**
 * Replaces the current key with the next one, if a checkpoint has handed the log over to it. The old public key stays
 * as `<key file>.<id>.pub`. After an interruption, calling it again continues.
 *
 * @param successorOf the key to which the log was handed over from another one
 * @returns whether there was something to do
 */
export async function finishKeyRotation(
  keyFile: string,
  successorOf: (signer: NoteSigner) => Promise<NoteVerifier | null>,
): Promise<boolean> {
  const [current, next] = [await readKey(keyFile), await readKey(nextFile(keyFile))]
  if (current === undefined || next === undefined) return false
  if ((await successorOf(current))?.encoded !== next.encoded) return false
  const id = current.keyId.toString('hex')
  await createFileOnce(`${keyFile}.${id}${PUBLIC_SUFFIX}`, `${current.encoded}\n`, WORLD_READABLE)
  await rename(nextFile(keyFile), keyFile).catch((error: unknown) => {
    // Another process is doing the same.
    if (!isMissing(error)) throw error
  })
  await syncDirectory(dirname(keyFile))
  await publish(keyFile, next)
  return true
}

async function publish(keyFile: string, signer: NoteSigner): Promise<void> {
  const path = `${keyFile}${PUBLIC_SUFFIX}`
  if (await createFileOnce(path, `${signer.encoded}\n`, WORLD_READABLE)) return
  const there = await readFile(path, 'utf8')
  if (there !== `${signer.encoded}\n`) await replaceFile(path, `${signer.encoded}\n`, WORLD_READABLE)
}

/** Reads a public key from a file, or from the text itself. @throws Unavailable `audit_public_key_damaged` */
export async function readVerifier(textOrPath: string): Promise<NoteVerifier> {
  const direct = parseNoteVerifier(textOrPath.trim())
  if (direct !== undefined) return direct
  const text = await readFile(textOrPath, 'utf8')
  const verifier = parseNoteVerifier(text.trim())
  if (verifier !== undefined) return verifier
  throw new Unavailable(
    'audit_public_key_damaged',
    `${textOrPath} does not contain a public key such as name+1a2b3c4d+AX…`,
  )
}

async function readKey(keyFile: string): Promise<NoteSigner | undefined> {
  const text = await readFile(keyFile, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (text === undefined) return undefined
  if (((await stat(keyFile)).mode & 0o077) !== 0) await chmod(keyFile, 0o600)
  const signer = parseNoteSigner(text.trim())
  if (signer !== undefined) return signer
  throw new Unavailable(
    'audit_key_damaged',
    `${keyFile} does not contain the key of the auditor: restore it from a backup.`,
  )
}

/** A unique name for an installation without a configured one. */
function originOf(publicKey: Uint8Array): string {
  return `bursar.local/${createHash('sha256').update(publicKey).digest('hex').slice(0, ORIGIN_DIGITS)}`
}
