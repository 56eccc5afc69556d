/**
 * Makes a recovery kit, or adds a holder's part to one. Runs where the secrets are, as a command of an operator: no request
 * over a network can have it seal anything to anybody.
 *
 * Invariant: nothing is written that would not restore: each seed was seen to derive the addresses of its wallets, each share
 * to belong to its key.
 */

import { childKey } from '../../keys/hd-key.ts'
import { HD_ACCOUNT_PATH, hdAccount, seedWords } from '../../keys/hd-path.ts'
import { shareFacts } from '../../keys/mpc/sign-together.ts'
import { requireRecipient, sealTo } from '../age.ts'
import { HD_PART, type HdSecrets, type KitWallet, kitJson, type PartySecrets, partyPart } from './format.ts'
import { requireRoom, type SealedPart, writeKit } from './kit-directory.ts'
import { KitRefused } from './kit-refused.ts'
import { describeWallet } from './list-wallets.ts'
import type { JointKey, KitSources, PartyShareSource, SourceWallet, TenantSeedSource } from './sources.ts'

export type BackUpRequest = {
  readonly out: string
  /** Age X25519 recipients; any of them opens each part. */
  readonly recipients: readonly string[]
  /** Names such as `hd` and `party-1`; `null` for all whose secrets are on this machine. */
  readonly parts: readonly string[] | null
  /** Of this tenant alone; `null` for all. */
  readonly tenant: string | null
  /** Writes over parts that are there. */
  readonly force: boolean
}

export type BackedUp = {
  readonly directory: string
  readonly written: readonly string[]
  /** All that the kit's manifest names. */
  readonly parts: readonly string[]
  readonly wallets: readonly KitWallet[]
}

/** @throws KitRefused, ValidationFailed for a recipient, Unavailable when the database or the keystore does not answer */
export type BackUp = (request: BackUpRequest) => Promise<BackedUp>

export function createBackUp(sources: KitSources, now: () => string): BackUp {
  return async ({ out, recipients, parts, tenant, force }) => {
    for (const recipient of recipients) await requireRecipient(recipient, '--recipient')
    const names = parts ?? namesOf(sources)
    if (names.length === 0) {
      throw new KitRefused('Neither a keystore nor the store of an mpc party is here: run this where they are.')
    }
    if (!force) await requireRoom(out, names)
    const createdAt = now()
    const keys = await sources.jointKeys()
    const found = await sources.wallets(tenant)
    const jointKeys = new Map(keys.map((key) => [key.keyId, key]))
    const wallets = found.map((wallet) => describeWallet(wallet, jointKeys))
    const wanted = { found, tenant, keys: keys.filter(({ keyId }) => tenant === null || isOf(found, keyId)) }
    const sealed: SealedPart[] = []
    for (const name of names) {
      const plaintext = kitJson(await secretsOf(sources, name, wanted, createdAt))
      sealed.push({ name, file: await sealTo(recipients, plaintext), recipients, createdAt })
      plaintext.fill(0)
    }
    const manifest = await writeKit(out, { parts: sealed, wallets, createdAt }, { force })
    return { directory: out, written: names, parts: manifest.parts.map(({ name }) => name), wallets: manifest.wallets }
  }
}

function namesOf({ seeds, parties }: KitSources): string[] {
  return [...(seeds === null ? [] : [HD_PART]), ...parties.map(({ party }) => partyPart(party))]
}

function isOf(wallets: readonly SourceWallet[], keyId: string): boolean {
  return wallets.some(({ key }) => key.kind === 'mpc' && key.keyId === keyId)
}

type Wanted = {
  readonly found: readonly SourceWallet[]
  readonly tenant: string | null
  readonly keys: readonly JointKey[]
}

async function secretsOf(
  { seeds, parties }: KitSources,
  name: string,
  wanted: Wanted,
  createdAt: string,
): Promise<HdSecrets | PartySecrets> {
  if (name === HD_PART) {
    if (seeds === null) throw new KitRefused('No keystore is here: run this where the signer runs, with its settings.')
    return hdSecrets(seeds, wanted, createdAt)
  }
  const party = parties.find((one) => partyPart(one.party) === name)
  if (party === undefined) throw new KitRefused(`The store of ${name} is not here: run this on that party's machine.`)
  return partySecrets(party, wanted, createdAt)
}

async function hdSecrets(source: TenantSeedSource, { found, tenant }: Wanted, createdAt: string): Promise<HdSecrets> {
  // The tenants of wallets too, so that a seed that is missing is told.
  const owners = found.filter(({ key }) => key.kind === 'hd').map(({ tenantId }) => tenantId)
  const tenants = tenant === null ? [...new Set([...(await source.tenants()), ...owners])].toSorted() : [tenant]
  const seeds: HdSecrets['seeds'] = []
  for (const tenantId of tenants) {
    const entropy = await source.load(tenantId)
    requireDerives(
      entropy,
      found.filter((wallet) => wallet.tenantId === tenantId),
    )
    seeds.push({
      tenant: tenantId,
      words: seedWords(entropy),
      entropy: Buffer.from(entropy).toString('hex'),
      account_path: HD_ACCOUNT_PATH,
    })
  }
  return { format: 'bursar recovery part', version: 1, part: HD_PART, created_at: createdAt, seeds }
}

function requireDerives(entropy: Uint8Array, wallets: readonly SourceWallet[]): void {
  const account = hdAccount(entropy)
  for (const { walletId, tenantId, address, key } of wallets) {
    if (key.kind !== 'hd' || childKey(account, key.index).address === address) continue
    throw new KitRefused(
      `The seed of tenant ${tenantId} does not give the address of ${walletId}: this is not the keystore that made it.`,
    )
  }
}

async function partySecrets(source: PartyShareSource, { keys }: Wanted, createdAt: string): Promise<PartySecrets> {
  const name = partyPart(source.party)
  const shares: PartySecrets['shares'] = []
  for (const key of keys.filter(({ parties }) => source.party <= parties)) {
    const share = await source.load(key)
    if (share === undefined) {
      throw new KitRefused(
        `${name} has no share of the key ${key.keyId} (${key.address}): have its share repaired first, then make the kit.`,
      )
    }
    requireOwn(share, source.party, key)
    const { keyId: key_id, epoch, address } = key
    shares.push({ key_id, epoch, address, share: Buffer.from(share).toString('base64') })
  }
  return { format: 'bursar recovery part', version: 1, part: name, created_at: createdAt, shares }
}

function requireOwn(share: Uint8Array, party: number, { keyId, address, threshold, parties }: JointKey): void {
  const facts = shareFacts(share)
  const isOwn =
    facts.party === party && facts.address === address && facts.threshold === threshold && facts.parties === parties
  if (!isOwn) throw new KitRefused(`What party-${party} holds under the key ${keyId} is not its share of ${address}.`)
}
