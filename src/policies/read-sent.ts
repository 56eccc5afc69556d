/** Reads a policy of a request, whose assets are looked up first. */
import type { LimitedAsset, Policy } from '../core/policy.ts'
import { readPolicy } from './read-policy.ts'
import type { SentPolicy } from './sent-policy.ts'

/** Finds an asset that the tenant may name, by its id. */
export type AssetOf = (assetId: string) => Promise<LimitedAsset | null>

/** @throws ValidationFailed naming every field, its rule and what to do */
export async function readSentPolicy(sent: SentPolicy, assetOf: AssetOf): Promise<Policy> {
  const named = sent.rules.flatMap(({ match, limit }) => [match?.amount?.asset_id ?? [], limit?.asset_id ?? []].flat())
  const ids = [...new Set(named)]
  const found = await Promise.all(ids.map(assetOf))
  const assets = new Map(ids.map((id, n) => [id, found[n] ?? null]))
  return readPolicy(sent, (assetId) => assets.get(assetId) ?? null)
}
