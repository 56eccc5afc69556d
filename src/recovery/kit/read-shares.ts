/**
 * The shares of a party for its part. A lost or damaged share is left out and reported: the others are worth keeping,
 * and other parties may have enough.
 *
 * Invariant: each share was verified to belong to its key and to this party.
 */
import { Unavailable } from '../../core/errors.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import { EngineFailure } from '../../keys/mpc/engine-wire.ts'
import { shareFacts } from '../../keys/mpc/sign-together.ts'
import { type PartySecrets, partyPart } from './format.ts'
import { KitRefused } from './kit-refused.ts'
import type { PartyShareSource } from './sources.ts'

/** About 140 kB each as text: a larger part would not fit in memory. */
const MAX_SHARES = 2_000

export type LeftOut = { readonly part: string; readonly keyId: string; readonly address: string; readonly why: string }

/** @throws KitRefused when there is no share to keep; Unavailable when the party's key does not open them */
export async function readShares(
  source: PartyShareSource,
  { keys, createdAt }: { readonly keys: readonly JointKey[]; readonly createdAt: string },
): Promise<{ readonly secrets: PartySecrets; readonly without: readonly LeftOut[] }> {
  const part = partyPart(source.party)
  const own = keys.filter(({ parties }) => parties.includes(source.party))
  if (own.length > MAX_SHARES) {
    throw new KitRefused(
      `${part} has ${own.length} shares, but a part can hold at most ${MAX_SHARES}: make one kit for each --tenant.`,
    )
  }
  const shares: PartySecrets['shares'] = []
  const without: LeftOut[] = []
  for (const key of own) {
    const { keyId, address, epoch } = key
    const read = await readShare(source, key)
    if ('why' in read) without.push({ part, keyId, address, why: read.why })
    else {
      const { share } = read
      const text = Buffer.from(share.buffer, share.byteOffset, share.byteLength).toString('base64')
      share.fill(0)
      shares.push({ key_id: keyId, epoch, address, share: text })
    }
  }
  if (shares.length === 0 && without[0] !== undefined)
    throw new KitRefused(`${part} has no share to back up: ${without[0].why}`)
  return { secrets: { format: 'bursar recovery part', version: 1, part, created_at: createdAt, shares }, without }
}

async function readShare(
  source: PartyShareSource,
  key: JointKey,
): Promise<{ readonly share: Uint8Array } | { readonly why: string }> {
  try {
    const share = await source.load(key)
    if (share === undefined) {
      return { why: 'the share is lost: recover it. If a refresh has just ended, run this again' }
    }
    return belongs(share, source.party, key) ? { share } : { why: 'the stored share belongs to another key or party' }
  } catch (error) {
    if (error instanceof EngineFailure) return { why: 'the stored file is not a share' }
    if (error instanceof Unavailable && error.code === 'sealed_secret_damaged') return { why: error.message }
    throw error
  }
}

function belongs(share: Uint8Array, party: number, { address, threshold, parties }: JointKey): boolean {
  const facts = shareFacts(share)
  return (
    facts.party === party &&
    facts.address === address &&
    facts.threshold === threshold &&
    facts.parties === parties.length
  )
}
