/** The schemas of what a swap exchanges, as a part of its transaction. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { idSchema, nullable, oneOf } from '../http/schemas.ts'

const amount = (description: string, example: string) => Type.String({ description, examples: [example] })

export const swapSchema = named(
  'ExecutedSwap',
  Type.Object(
    {
      to_asset: Type.String({ description: 'The symbol of the asset that is bought.', examples: ['USDC'] }),
      to_asset_id: Type.String({
        description: 'The id of that asset (CAIP-19).',
        examples: ['eip155:1/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'],
      }),
      amount_type: oneOf(['exact_input', 'exact_output'] as const, {
        description: 'Which amount is fixed.',
        examples: ['exact_input'],
      }),
      quoted_from_amount: amount('The amount that the quote sells.', '1'),
      quoted_to_amount: amount('The amount that the quote buys.', '2998.5'),
      min_to_amount: nullable(
        amount('The least that the swap buys: with less it fails. Null for `exact_output`.', '2983.5'),
      ),
      max_from_amount: nullable(
        amount('The most that the swap sells: with more it fails. Null for `exact_input`.', '1.005'),
      ),
      approval_transaction_id: nullable(
        idSchema('tx', 'The transaction that lets the router take the sold token. Null if none was needed.'),
      ),
      failure_guessed: Type.Boolean({
        description:
          'Whether the code of its failure is a guess from the text of the revert. False if it did not fail, and if a node said that the router itself reverted.',
        examples: [false],
      }),
      private: Type.Boolean({
        description:
          'Whether its signed bytes are sent only to private relays, never to public nodes. Its approval is not private.',
        examples: [false],
      }),
      executed_from_amount: nullable(
        amount('What the swap sold, from the logs of its block. Null until it is in a block.', '1'),
      ),
      executed_to_amount: nullable(
        amount('What the swap bought, from the logs of its block. Null until it is in a block.', '2998.5'),
      ),
      missing_to_amount: nullable(
        amount(
          'How much less arrived than the swap had to give: its minimum, or the amount of an `exact_output`. Null if nothing is missing, and while it is not known.',
          '2.5',
        ),
      ),
      price_difference_bps: nullable(
        Type.Integer({
          description:
            'The executed price compared with the quoted one, in hundredths of a percent. Negative if it was worse. Null until it is known.',
          examples: [0],
        }),
      ),
    },
    { description: 'What a swap exchanges. Null for other transactions.' },
  ),
)

/** What is missing stands in the events that tell it, and in no older one. */
export const swapAtEventSchema = named(
  'SwapAtEvent',
  Type.Object(
    {
      ...Type.Omit(swapSchema, ['failure_guessed', 'private', 'missing_to_amount']).properties,
      missing_to_amount: Type.Optional(swapSchema.properties.missing_to_amount),
    },
    { description: swapSchema.description ?? '' },
  ),
)

export const swapPartSchema = nullable(swapSchema)

declare module '../transactions/parts.ts' {
  interface PartSchemas {
    readonly swap: typeof swapPartSchema
  }
}
