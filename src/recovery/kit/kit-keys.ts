/** Finds the key of a wallet in opened kits, and reports what is missing if it is not available. */
import { childKey, type HdKey } from '../../keys/hd-key.ts'
import { signTogether } from '../../keys/mpc/sign-together.ts'
import type { RecoverableSignature } from '../../keys/recoverable-signature.ts'
import { KEY_RANGE_SIZE, KEY_RANGES } from '../../wallets/key-indexes.ts'
import { HD_PART, type KitWallet, partyPart } from './format.ts'
import { KitRefused } from './kit-refused.ts'
import type { KitShare, OpenedKit } from './open-kits.ts'

export type KitKey = {
  /** The parts that contain it. */
  readonly heldBy: readonly string[]
  /** For a joint key, the epoch of its shares. */
  readonly epoch: number | null
  /** A remark about a key that can sign. */
  readonly note: string | null
  /** Each can sign on its own; together they use every secret available. */
  readonly signers: readonly ((digest: Uint8Array) => RecoverableSignature)[]
}

/**
 * Wallets of a seed that are not in its kit: this many indexes are searched for an address in the first range and in
 * those that wallets of the kit use, which takes some seconds each.
 */
const MAX_UNLISTED = 10_000
/** In each other range. A range begins at a restore of the database, where the kit cannot know. */
const MAX_UNLISTED_ELSEWHERE = 25

/** @throws KitRefused with what is missing */
export function keyOfWallet(kit: OpenedKit, wallet: KitWallet): KitKey {
  return wallet.type === 'hd' ? hdKeyOf(kit, wallet) : jointKeyOf(kit, wallet.address, wallet.parties)
}

/**
 * The key of an address, listed in the manifest or not: a seed also creates the keys of later wallets.
 *
 * @param address EIP-55
 * @throws KitRefused with what is missing
 */
export function keyOfAddress(kit: OpenedKit, address: string): KitKey {
  const listed = kit.wallets.find((wallet) => wallet.address === address)
  if (listed !== undefined) return keyOfWallet(kit, listed)
  const share = kit.shares.find(({ facts }) => facts.address === address)
  if (share !== undefined) return jointKeyOf(kit, address, share.facts.parties)
  for (const { account } of kit.seeds.values()) {
    for (const index of unlistedIndexes(kit)) {
      const key = childKey(account, index)
      if (key.address === address) return ofHd(key)
    }
  }
  throw new KitRefused(
    `${address} is not in any opened part, nor among the first ${MAX_UNLISTED} keys of its seeds, or the first ${MAX_UNLISTED_ELSEWHERE} of a later range${told(kit, [])}.`,
  )
}

/** Of any seed of the kit, the most likely first. */
function* unlistedIndexes({ wallets }: OpenedKit): Generator<number> {
  const used = new Set([
    0,
    ...wallets.flatMap((wallet) => (wallet.type === 'hd' ? [wallet.index - (wallet.index % KEY_RANGE_SIZE)] : [])),
  ])
  for (const from of used) for (let n = 0; n < MAX_UNLISTED; n += 1) yield from + n
  for (let range = 0; range < KEY_RANGES; range += 1) {
    const from = range * KEY_RANGE_SIZE
    for (let n = 0; n < MAX_UNLISTED_ELSEWHERE && !used.has(from); n += 1) yield from + n
  }
}

function hdKeyOf(kit: OpenedKit, wallet: Extract<KitWallet, { type: 'hd' }>): KitKey {
  const seed = kit.seeds.get(wallet.tenant)
  if (seed === undefined) {
    const missing = kit.opened.includes(HD_PART)
      ? `the part hd has no seed of tenant ${wallet.tenant}`
      : `the part hd is needed${told(kit, [HD_PART])}`
    throw new KitRefused(missing)
  }
  const key = childKey(seed.account, wallet.index)
  if (key.address !== wallet.address) {
    throw new KitRefused(`the seed of tenant ${wallet.tenant} gives ${key.address} at ${wallet.derivation_path}`)
  }
  return ofHd(key)
}

function ofHd(key: HdKey): KitKey {
  return { heldBy: [HD_PART], epoch: null, note: null, signers: [(digest) => key.sign(digest)] }
}

/** Shares only work with others of their epoch. If several epochs have enough, the newest is used. */
function jointKeyOf(kit: OpenedKit, address: string, parties: number): KitKey {
  const here = kit.shares.filter(({ facts }) => facts.address === address)
  const epochs = [...new Set(here.map(({ epoch }) => epoch))].toSorted((a, b) => b - a)
  for (const epoch of epochs) {
    const shares = ofDistinctParties(here.filter((share) => share.epoch === epoch))
    const threshold = shares[0]?.facts.threshold ?? Number.POSITIVE_INFINITY
    if (shares.length < threshold) continue
    const leftOut = here.filter((share) => share.epoch !== epoch).map((share) => `${share.part} (epoch ${share.epoch})`)
    return {
      heldBy: shares.map(({ part }) => part),
      epoch,
      note: leftOut.length === 0 ? null : `not used, because the others are of epoch ${epoch}: ${leftOut.join(', ')}`,
      signers: quorums(shares, threshold).map((quorum) => (digest) => signTogether(quorum, digest)),
    }
  }
  throw new KitRefused(missingShares(kit, here, parties))
}

function ofDistinctParties(shares: readonly KitShare[]): KitShare[] {
  const byParty = new Map(shares.map((share) => [share.facts.party, share]))
  return [...byParty.values()].toSorted((a, b) => a.facts.party - b.facts.party)
}

/** Quorums that use every share at least once. */
function quorums(shares: readonly KitShare[], threshold: number): (readonly Uint8Array[])[] {
  const bytes = shares.map((share) => share.bytes)
  const always = bytes.slice(0, threshold - 1)
  return bytes.slice(threshold - 1).map((last) => [...always, last])
}

function missingShares(kit: OpenedKit, here: readonly KitShare[], parties: number): string {
  const names = Array.from({ length: parties }, (_, index) => partyPart(index + 1))
  const [first] = here
  if (first === undefined) return `no opened part has a share of it${told(kit, names)}`
  const held = here.map(({ part, epoch }) => `${part} (epoch ${epoch})`).join(', ')
  return `${first.facts.threshold} shares of one epoch are needed, but the opened parts have ${held}${told(kit, names)}`
}

/** Why relevant parts could not be used. */
function told({ problems }: OpenedKit, parts: readonly string[]): string {
  const ofThem = problems.filter(({ part }) => parts.length === 0 || parts.includes(part))
  return ofThem.map(({ path, problem }) => `; ${path}: ${problem}`).join('')
}
