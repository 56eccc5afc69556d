/**
 * Creates a recovery kit, or adds a holder's part to one. Runs as an operator command on the machine with the secrets:
 * no network request can cause it to seal anything.
 */

import { requireRecipient, sealTo } from '../../keys/age.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import { HD_PART, type HdSecrets, type KitWallet, kitJson, type PartySecrets, partyPart } from './format.ts'
import { kitIdFor, requireRoom, type SealedPart, writeKit } from './kit-directory.ts'
import { KitRefused } from './kit-refused.ts'
import { describeWallet } from './list-wallets.ts'
import { readSeeds } from './read-seeds.ts'
import { type LeftOut, readShares } from './read-shares.ts'
import type { KitSources, SourceWallet } from './sources.ts'

export type BackUpRequest = {
  readonly out: string
  /** Age X25519 recipients; any of them can open each part. */
  readonly recipients: readonly string[]
  /** Names such as `hd` and `party-1`; `null` for all whose secrets are on this machine. */
  readonly parts: readonly string[] | null
  /** Only this tenant; `null` for all. */
  readonly tenant: string | null
  /** Overwrites existing parts. */
  readonly force: boolean
  /** Keys other than that of this machine, whose parts in the kit are kept. */
  readonly signedBy: readonly string[]
}

export type BackedUp = {
  readonly directory: string
  readonly written: readonly string[]
  /** All parts in the kit's manifest. */
  readonly parts: readonly string[]
  readonly wallets: readonly KitWallet[]
  readonly leftOut: readonly LeftOut[]
  /** The key that signed the kit: 64 hex digits, to be kept with the identities. */
  readonly signedBy: string
  /** Wallets of the service that the kit does not name: their keys are on other machines. */
  readonly elsewhere: number
}

/** @throws KitRefused, ValidationFailed for a recipient, Unavailable when the database or the keystore does not answer */
export type BackUp = (request: BackUpRequest) => Promise<BackedUp>

/** Makes the kit from what is on this machine, as `BackUp` says. */
export async function backUp(
  sources: KitSources,
  now: () => string,
  { out, recipients, parts, tenant, force, signedBy }: BackUpRequest,
): Promise<BackedUp> {
  for (const recipient of recipients) await requireRecipient(recipient, '--recipient')
  const names = parts ?? namesOf(sources)
  if (names.length === 0) {
    throw new KitRefused(
      'This machine has neither a keystore nor the shares of an mpc party: run this on the machine that has them.',
    )
  }
  if (!force) await requireRoom(out, names)
  const { signer } = sources
  const kitId = await kitIdFor(out, { names, signer, trusted: signedBy })
  const createdAt = now()
  const wanted = await readWanted(sources, tenant)
  const sealed: SealedPart[] = []
  const leftOut: LeftOut[] = []
  for (const name of names) {
    const { secrets, without } = await secretsOf(sources, name, wanted, createdAt)
    leftOut.push(...without)
    const plaintext = kitJson({ ...secrets, kit_id: kitId })
    try {
      sealed.push({ name, file: await sealTo(recipients, plaintext), recipients, createdAt })
    } finally {
      plaintext.fill(0)
    }
  }
  if (signer === null) throw new KitRefused('This machine has no key-encryption key to sign the kit with.')
  const wallets = wanted.described.filter((wallet) => names.some((name) => concerns(name, wallet)))
  const manifest = await writeKit(
    out,
    { kitId, parts: sealed, wallets, createdAt, signer, trusted: signedBy },
    { force },
  )
  const named = new Set(manifest.wallets.map(({ wallet_id }) => wallet_id))
  return {
    directory: out,
    written: names,
    parts: manifest.parts.map(({ name }) => name),
    wallets: manifest.wallets,
    leftOut,
    signedBy: signer.key,
    elsewhere: wanted.described.filter(({ wallet_id }) => !named.has(wallet_id)).length,
  }
}

/** A manifest names the wallets of its parts, so that each holder can verify its own. */
function concerns(part: string, wallet: KitWallet): boolean {
  return wallet.type === 'hd' ? part === HD_PART : part !== HD_PART
}

function namesOf({ seeds, parties }: KitSources): string[] {
  return [...(seeds === null ? [] : [HD_PART]), ...parties.map(({ party }) => partyPart(party))]
}

type Wanted = {
  readonly tenant: string | null
  readonly wallets: readonly SourceWallet[]
  readonly described: readonly KitWallet[]
  readonly keys: readonly JointKey[]
}

/** Wallets first: keys read afterwards include the keys of all of them. */
async function readWanted(sources: KitSources, tenant: string | null): Promise<Wanted> {
  const wallets = await sources.wallets(tenant)
  const keys = await sources.jointKeys()
  const byId = new Map(keys.map((key) => [key.keyId, key]))
  const owned = new Set(wallets.map(({ key }) => (key.kind === 'mpc' ? key.keyId : '')))
  return {
    tenant,
    wallets,
    described: wallets.map((wallet) => describeWallet(wallet, byId)),
    keys: tenant === null ? keys : keys.filter(({ keyId }) => owned.has(keyId)),
  }
}

type Secrets = { readonly secrets: HdSecrets | PartySecrets; readonly without: readonly LeftOut[] }

async function secretsOf(
  { seeds, parties }: KitSources,
  name: string,
  { tenant, wallets, keys }: Wanted,
  createdAt: string,
): Promise<Secrets> {
  if (name === HD_PART) {
    if (seeds === null)
      throw new KitRefused('This machine has no keystore: run this where the signer runs, with its settings.')
    return { secrets: await readSeeds(seeds, { tenant, wallets, createdAt }), without: [] }
  }
  const party = parties.find((one) => partyPart(one.party) === name)
  if (party === undefined)
    throw new KitRefused(`This machine does not have the shares of ${name}: run this on the machine of that party.`)
  return readShares(party, { keys, createdAt })
}
