/** The read models that money depends on, which `audit verify` compares with the log. */
import { apiKeyAggregate } from '../access/aggregate.ts'
import { assetAggregate } from '../assets/aggregate.ts'
import type { CheckedModel } from '../audit/verify/compare-rows.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import { mpcKeyAggregate } from '../mpc-wallets/aggregate.ts'
import { walletAggregate } from '../wallets/aggregate.ts'

const MODELS = [
  { table: 'wallets', aggregate: walletAggregate, streamOf: `'wallet-' || r.wallet_id` },
  { table: 'mpc_keys', aggregate: mpcKeyAggregate, streamOf: `'mpckey-' || r.key_id` },
  { table: 'api_keys', aggregate: apiKeyAggregate, streamOf: `'apikey-' || r.key_id` },
  { table: 'assets', aggregate: assetAggregate, streamOf: `'asset-' || r.asset_id || '@' || r.tenant_id` },
]

export const CHECKED_MODELS: readonly CheckedModel[] = MODELS.map((model) => ({
  ...model,
  aggregate: model.aggregate as unknown as AnyAggregate,
}))
