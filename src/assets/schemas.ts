/** The properties of an asset that answers of the API and public events show alike. */
import { Type } from '@sinclair/typebox'
import { environmentSchema, networkSchema } from '../http/schemas.ts'

/** A token contract, for examples. */
export const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

export const assetNames = {
  asset_id: Type.String({ description: 'The id of the asset (CAIP-19).', examples: [`eip155:1/erc20:${TOKEN}`] }),
  symbol: Type.String({ description: 'The symbol of the asset.', examples: ['USDC'] }),
  name: Type.String({ description: 'The name of the asset.', examples: ['USD Coin'] }),
  decimals: Type.Integer({
    description: 'How many digits an amount may have after the decimal point.',
    examples: [6],
  }),
}

export const assetPlace = { network: networkSchema, environment: environmentSchema }
