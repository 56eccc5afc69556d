/**
 * Opens the parts of kits with the identities of their holders. Needs no server, database or network. A part that
 * cannot be opened or read is reported by name; the others are still used.
 */

import { openWith } from '../../keys/age.ts'
import { hdAccount, seedWords } from '../../keys/hd-path.ts'
import { EngineFailure } from '../../keys/mpc/engine-wire.ts'
import { type ShareFacts, shareFacts } from '../../keys/mpc/sign-together.ts'
import { HD_PART, type KitWallet, parseHdSecrets, parsePartySecrets } from './format.ts'
import type { FoundKit, FoundPart, KitOrigin } from './kit-directory.ts'
import { KitRefused } from './kit-refused.ts'

export type KitSeed = {
  readonly entropy: Uint8Array
  /** The account key: derived once, since that takes far longer than deriving a wallet key. */
  readonly account: ReturnType<typeof hdAccount>
  /** The manifest of the part that it is from. */
  readonly origin: KitOrigin
}

export type KitShare = {
  readonly part: string
  readonly keyId: string
  readonly epoch: number
  readonly facts: ShareFacts
  readonly bytes: Uint8Array
}

export type PartProblem = { readonly part: string; readonly path: string; readonly problem: string }

export type OpenedKit = {
  readonly wallets: readonly KitWallet[]
  /** By tenant. */
  readonly seeds: ReadonlyMap<string, KitSeed>
  readonly shares: readonly KitShare[]
  readonly opened: readonly string[]
  readonly problems: readonly PartProblem[]
  readonly origins: readonly KitOrigin[]
}

/** @param identities age identities, one or more per holder */
export async function openKits(found: FoundKit, identities: readonly string[]): Promise<OpenedKit> {
  const seeds = new Map<string, KitSeed>()
  const shares: KitShare[] = []
  const opened: string[] = []
  const problems: PartProblem[] = []
  for (const part of found.parts) {
    const read = await readPart(part, identities)
    if ('problem' in read) {
      problems.push({ part: part.name, path: part.path, problem: read.problem })
      continue
    }
    opened.push(part.name)
    for (const [tenant, entropy] of read.seeds) {
      requireSame(tenant, seeds.get(tenant), { entropy, path: part.path })
      seeds.set(tenant, { entropy, account: hdAccount(entropy), origin: part.origin })
    }
    shares.push(...read.shares)
  }
  return { wallets: found.wallets, seeds, shares, opened, problems, origins: found.origins }
}

/** @throws KitRefused when two parts have different seeds of a tenant: which one is right is not for this to decide */
function requireSame(
  tenant: string,
  other: KitSeed | undefined,
  { entropy, path }: { readonly entropy: Uint8Array; readonly path: string },
) {
  if (other === undefined || Buffer.from(other.entropy).equals(entropy)) return
  throw new KitRefused(
    `${path} has another seed of tenant ${tenant} than ${other.origin.manifest}: give one of the two kits alone.`,
  )
}

type ReadPart = {
  readonly seeds: readonly (readonly [tenant: string, entropy: Uint8Array])[]
  readonly shares: readonly KitShare[]
}

async function readPart(
  part: FoundPart,
  identities: readonly string[],
): Promise<ReadPart | { readonly problem: string }> {
  if (part.bytes === null) return { problem: part.problem ?? 'the file cannot be read' }
  const opening = await openWith(identities, part.bytes)
  if (opening.outcome === 'not_for_us') {
    return { problem: `none of the given identities can open it: it is encrypted to ${part.recipients.join(', ')}` }
  }
  if (opening.outcome === 'damaged') return { problem: 'the file is damaged' }
  try {
    return part.name === HD_PART ? readSeeds(part, opening.plaintext) : readShares(part, opening.plaintext)
  } finally {
    opening.plaintext.fill(0)
  }
}

const UNREADABLE = { problem: 'its content is not such a part, or its version is newer than this Bursar can read' }

/** A part is of one kit: it is not used beside a manifest that somebody else made. */
function ofAnother({ origin }: FoundPart, kitId: string | undefined): { readonly problem: string } | null {
  return (kitId ?? null) === origin.kitId ? null : { problem: `it belongs to another kit than ${origin.manifest}` }
}

function readSeeds(part: FoundPart, plaintext: Uint8Array): ReadPart | { readonly problem: string } {
  const secrets = parseHdSecrets(plaintext)
  if (secrets === undefined) return UNREADABLE
  const seeds = secrets.seeds.map(({ tenant, entropy }) => [tenant, Buffer.from(entropy, 'hex')] as const)
  if (!secrets.seeds.every(({ words, entropy }) => isOfWords(words, entropy)))
    return { problem: 'the words of a seed are not those of its entropy' }
  return ofAnother(part, secrets.kit_id) ?? { seeds, shares: [] }
}

const SEED_BYTES = 32

function isOfWords(words: string, entropy: string): boolean {
  const bytes = Buffer.from(entropy, 'hex')
  return bytes.length === SEED_BYTES && seedWords(bytes) === words
}

function readShares(part: FoundPart, plaintext: Uint8Array): ReadPart | { readonly problem: string } {
  const { name } = part
  const secrets = parsePartySecrets(plaintext)
  if (secrets === undefined || secrets.part !== name) return UNREADABLE
  const other = ofAnother(part, secrets.kit_id)
  if (other !== null) return other
  const shares: KitShare[] = []
  for (const { key_id: keyId, epoch, share } of secrets.shares) {
    const bytes = Buffer.from(share, 'base64')
    try {
      shares.push({ part: name, keyId, epoch, facts: shareFacts(bytes), bytes })
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error
      return { problem: `its share of the key ${keyId} is damaged` }
    }
  }
  return { seeds: [], shares }
}
