/**
 * A kit on disk. Its parts and its manifest are written together or not at all, readable by their owner only; an existing part is only overwritten on
 * request. A part that does not match its manifest is reported and never used.
 */
import { hash, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unarmored } from '../../keys/age.ts'
import { isMissing } from '../../keys/private-files.ts'
import { COMMITTED, type NewVersion, replaceFiles } from '../../keys/replace-files.ts'
import {
  type KitPart,
  type KitWallet,
  kitJson,
  MANIFEST_FILE,
  type Manifest,
  parseManifest,
  partFile,
} from './format.ts'
import { KitRefused } from './kit-refused.ts'
import { type KitSigner, type Signed, signedState } from './kit-signature.ts'

/** A sealed part to write. */
export type SealedPart = {
  readonly name: string
  readonly file: Uint8Array
  readonly recipients: readonly string[]
  readonly createdAt: string
}

/** A part with its file's content. */
export type FoundPart = KitPart & {
  readonly path: string
  /** `null` when the file is missing, or does not match the manifest. */
  readonly bytes: Uint8Array | null
  readonly problem: string | null
  readonly origin: KitOrigin
}

/** The manifest of a directory, and what its signature says. */
export type KitOrigin = { readonly manifest: string; readonly kitId: string | null; readonly signed: Signed }

export type FoundKit = {
  readonly parts: readonly FoundPart[]
  readonly wallets: readonly KitWallet[]
  readonly origins: readonly KitOrigin[]
}

/**
 * Refuses to continue if a part would be overwritten.
 *
 * @throws KitRefused naming the file
 */
export async function requireRoom(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(directory, partFile(name))
    if ((await readIfThere(directory, partFile(name))) === null) continue
    throw new KitRefused(`${path} already exists: use another --out, or --force to overwrite it.`)
  }
}

/** Who writes which parts, and the other keys whose parts are kept: a signature covers them too. */
export type KitWriter = {
  readonly names: readonly string[]
  /** `null` on a machine that cannot sign. */
  readonly signer: Pick<KitSigner, 'key'> | null
  readonly trusted: readonly string[]
}

/**
 * The id of the kit in a directory, or a new one: its parts name it.
 *
 * @throws KitRefused when its manifest is damaged, or has parts that would be kept and that nobody trusted has signed
 */
export async function kitIdFor(directory: string, writer: KitWriter): Promise<string> {
  return (await readKept(directory, writer))?.kit_id ?? randomBytes(16).toString('hex')
}

/** The manifest to which parts are added; `null` when there is none, or nothing of it is kept. */
async function readKept(directory: string, { names, signer, trusted }: KitWriter): Promise<Manifest | null> {
  const before = await readManifest(directory)
  if (before === null) return null
  const path = join(directory, MANIFEST_FILE)
  const signed = signedState(before)
  if (signed.state === 'broken')
    throw new KitRefused(`${path} was changed since it was signed: nothing is added to it. Use another --out.`)
  if (signed.state === 'signed' && [signer?.key, ...trusted].includes(signed.key)) return before
  const kept = before.parts.map(({ name }) => name).filter((name) => !names.includes(name))
  if (kept.length === 0) return null
  const why =
    signed.state === 'signed'
      ? `is signed by ${signed.key}: name that key with --signed-by if it is yours, or use another --out`
      : 'is not signed, as kits of earlier versions: use another --out'
  throw new KitRefused(`${path} has ${kept.join(', ')} already, and ${why}. Nothing was written.`)
}

/**
 * Adds parts to a directory, creating it if necessary, and lists them in its manifest. Entries of the same wallet are
 * replaced.
 *
 * @throws KitRefused when a part exists and `force` is not set, or the directory's manifest is damaged
 */
export async function writeKit(
  directory: string,
  kit: {
    readonly kitId: string
    readonly parts: readonly SealedPart[]
    readonly wallets: readonly KitWallet[]
    readonly createdAt: string
    readonly signer: KitSigner
    readonly trusted: readonly string[]
  },
  { force }: { readonly force: boolean },
): Promise<Manifest> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const names = kit.parts.map(({ name }) => name)
  const before = await readKept(directory, { ...kit, names })
  if (!force) await requireRoom(directory, names)
  const manifest = kit.signer.sign({
    format: 'bursar recovery kit',
    version: 1,
    kit_id: kit.kitId,
    created_at: kit.createdAt,
    parts: byKey([...(before?.parts ?? []), ...kit.parts.map(described)], ({ name }) => name),
    wallets: byKey([...(before?.wallets ?? []), ...kit.wallets], ({ wallet_id }) => wallet_id),
  })
  // Together: a manifest never names a part that was not written, also when the disk is full or the process is killed.
  await replaceFiles(directory, filesOf(kit.parts, manifest), async () => undefined)
  return manifest
}

async function* filesOf(parts: readonly SealedPart[], manifest: Manifest): AsyncGenerator<NewVersion> {
  for (const { name, file } of parts) yield { name: partFile(name), contents: file }
  yield { name: MANIFEST_FILE, contents: kitJson(manifest) }
}

/**
 * Reads the kits of several directories as one: holders keep their parts separately and combine them here.
 *
 * @throws KitRefused when a directory holds no kit
 */
export async function readKits(directories: readonly string[]): Promise<FoundKit> {
  const parts: FoundPart[] = []
  const wallets: KitWallet[] = []
  const origins: KitOrigin[] = []
  for (const directory of directories) {
    const manifest = await readManifest(directory)
    if (manifest === null) throw new KitRefused(`${directory} is not a recovery kit: it has no ${MANIFEST_FILE}.`)
    const path = join(directory, MANIFEST_FILE)
    const origin = { manifest: path, kitId: manifest.kit_id ?? null, signed: signedState(manifest) }
    origins.push(origin)
    wallets.push(...manifest.wallets)
    for (const part of manifest.parts) parts.push({ ...(await findPart(directory, part)), origin })
  }
  return { parts, wallets: byKey(wallets, ({ wallet_id }) => wallet_id), origins }
}

async function findPart(directory: string, part: KitPart): Promise<Omit<FoundPart, 'origin'>> {
  const path = join(directory, partFile(part.name))
  const bytes = await readIfThere(directory, partFile(part.name))
  if (bytes === null) return { ...part, path, bytes, problem: 'the file is missing' }
  // The manifest has the digest of the file as it was made: as text it is the same file.
  const file = unarmored(bytes)
  if (hash('sha256', file) === part.sha256) return { ...part, path, bytes: file, problem: null }
  return {
    ...part,
    path,
    bytes: null,
    problem: `the file is damaged: its SHA-256 differs from the one in ${MANIFEST_FILE}`,
  }
}

async function readManifest(directory: string): Promise<Manifest | null> {
  const path = join(directory, MANIFEST_FILE)
  const bytes = await readIfThere(directory, MANIFEST_FILE)
  if (bytes === null) return null
  const manifest = parseManifest(bytes)
  if (manifest === undefined)
    throw new KitRefused(`${path} is damaged, or its version is newer than this Bursar can read.`)
  return manifest
}

/**
 * A file of a kit as it was committed last, also when the process that wrote it was killed before it moved the file.
 * Reading changes nothing: others may write to the directory, and it may be read-only.
 */
async function readIfThere(directory: string, name: string): Promise<Uint8Array | null> {
  for (const path of [join(directory, COMMITTED, name), join(directory, name)]) {
    const bytes = await readFile(path).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (bytes !== null) return bytes
  }
  return null
}

function described({ name, file, recipients, createdAt }: SealedPart): KitPart {
  return {
    name,
    file: partFile(name),
    sha256: hash('sha256', file),
    recipients: [...recipients],
    created_at: createdAt,
  }
}

/** One entry for each key, the last of each, sorted by key. */
function byKey<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): Entry[] {
  const last = new Map(entries.map((entry) => [keyOf(entry), entry]))
  return [...last].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
}
