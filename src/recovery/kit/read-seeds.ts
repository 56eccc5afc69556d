/**
 * The seeds of the tenants for the part `hd`.
 *
 * Invariant: each seed was verified to derive the addresses of its tenant's wallets, so the kit restores them.
 */
import { childKey } from '../../keys/hd-key.ts'
import { HD_ACCOUNT_PATH, hdAccount, seedWords } from '../../keys/hd-path.ts'
import { HD_PART, type HdSecrets } from './format.ts'
import { KitRefused } from './kit-refused.ts'
import type { SourceWallet, TenantSeedSource } from './sources.ts'

export type SeedsWanted = {
  /** `null` for all in the keystore. */
  readonly tenant: string | null
  readonly wallets: readonly SourceWallet[]
  readonly createdAt: string
}

/** @throws KitRefused when a seed does not match the wallets; Unavailable when one is missing or cannot be opened */
export async function readSeeds(
  source: TenantSeedSource,
  { tenant, wallets, createdAt }: SeedsWanted,
): Promise<HdSecrets> {
  const hd = wallets.filter(({ key }) => key.kind === 'hd')
  // Includes the owners of wallets, so that a missing seed is reported.
  const owners = hd.map(({ tenantId }) => tenantId)
  const tenants = tenant === null ? [...new Set([...(await source.tenants()), ...owners])].toSorted() : [tenant]
  const seeds: HdSecrets['seeds'] = []
  for (const tenantId of tenants) {
    const entropy = await source.load(tenantId)
    try {
      requireDerives(
        entropy,
        hd.filter((wallet) => wallet.tenantId === tenantId),
      )
      seeds.push({
        tenant: tenantId,
        words: seedWords(entropy),
        entropy: Buffer.from(entropy).toString('hex'),
        account_path: HD_ACCOUNT_PATH,
      })
    } finally {
      entropy.fill(0)
    }
  }
  return { format: 'bursar recovery part', version: 1, part: HD_PART, created_at: createdAt, seeds }
}

function requireDerives(entropy: Uint8Array, wallets: readonly SourceWallet[]): void {
  const account = hdAccount(entropy)
  const gives = (index: number, address: string) => {
    const key = childKey(account, index)
    key.wipe()
    return key.address === address
  }
  const stranger = wallets.find(({ key, address }) => key.kind === 'hd' && !gives(key.index, address))
  account.wipe()
  if (stranger !== undefined) {
    const { tenantId, walletId } = stranger
    throw new KitRefused(
      `The seed of tenant ${tenantId} does not give the address of ${walletId}: this is not the keystore that created it.`,
    )
  }
}
