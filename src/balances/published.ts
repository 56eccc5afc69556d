/** Changes of balances as public events. They are rendered from the event alone: the stream of a wallet is long. */
import { Type } from '@sinclair/typebox'
import { publishedAlone } from '../capability.ts'
import { formatAmount } from '../core/money.ts'
import { named } from '../http/components.ts'
import { idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { balanceAggregate } from './aggregate.ts'

const CAUSES = ['block', 'reconciliation', 'first_observation', 'reorg'] as const

const schema = named(
  'BalanceAtEvent',
  Type.Object({
    wallet_id: idSchema('wal', 'The id of the wallet.'),
    balance: Type.String({
      description: 'The balance of the address, in whole units of the asset.',
      examples: ['1.5'],
    }),
    currency: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
    asset_id: Type.String({ description: 'The id of the asset (CAIP-19).', examples: ['eip155:1/slip44:60'] }),
    decimals: Type.Integer({ description: 'How many decimals the asset has.', examples: [18] }),
    contract_address: nullable(Type.String({ description: 'The token contract. Null for the native currency.' })),
    block_number: Type.Integer({ description: 'The block in which the balance was observed.', examples: [19000000] }),
    cause: oneOf(CAUSES, {
      description:
        'How the change was found: in a block, by a comparison with the chain, because the wallet is new, or because the block of ' +
        'the previous balance left the chain.',
      examples: ['block'],
    }),
    updated_at: instant('When the balance was observed.'),
  }),
)

export const publishedBalances = publishedAlone(balanceAggregate, {
  resource: 'balance',
  scope: 'wallets:read',
  types: {
    'balance.changed': 'The balance of one asset of a wallet changed on chain, or was observed for the first time.',
  },
  events: { BalanceChanged: ['balance.changed'], BalanceReorged: ['balance.changed'] },
  schema,
  render({ id, event }) {
    const { asset, balance, blockNumber, observedAt } = event.data
    const data = {
      wallet_id: id,
      balance: formatAmount(BigInt(balance), asset.decimals),
      currency: asset.symbol,
      asset_id: asset.assetId,
      decimals: asset.decimals,
      contract_address: asset.contract,
      block_number: blockNumber,
      cause: event.type === 'BalanceReorged' ? ('reorg' as const) : event.data.cause,
      updated_at: observedAt,
    }
    return { resourceId: id, data }
  },
})
