/** The assets that a policy or a limit of a tenant may name. */
import type { AssetBooks } from '../assets/asset-books.ts'
import { describeAsset } from '../assets/describe-asset.ts'
import type { Context } from '../context.ts'
import type { Owner } from '../core/tenants.ts'
import type { AssetOf } from '../policies/read-policy.ts'

/** Those of its environment, by their ids. */
export async function assetOfOwner(
  ctx: Pick<Context, 'chains'> & { readonly books: AssetBooks },
  { tenantId, environment }: Owner,
  assetId: string,
): Promise<Awaited<ReturnType<AssetOf>>> {
  const settings = ctx.chains.byChainId(Number(/^eip155:(\d+)\//.exec(assetId)?.[1]))?.settings
  return settings?.environment === environment ? describeAsset(ctx, tenantId, settings, assetId) : null
}
