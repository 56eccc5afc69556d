/** The schemas of what a request waits for, and of why it failed, as parts of its transaction. */
import { Type } from '@sinclair/typebox'
import { failure, instant, nullable, oneOf } from '../http/schemas.ts'

export const waitingSchema = nullable(
  Type.Object(
    {
      code: oneOf(['not_simulated'] as const, { description: 'What it waits for.', examples: ['not_simulated'] }),
      message: Type.String({
        description: 'The reason in one sentence.',
        examples: ['No node answered its simulation in time.'],
      }),
      since: instant('When this was first seen.'),
    },
    {
      description:
        'Why a requested transaction is not signed yet, if no node can simulate it. It is tried again, and fails with `not_simulated` after a day. Null otherwise, and in events.',
    },
  ),
)

export const failureSchema = nullable(
  failure('Why the transaction failed. Null unless it did.', {
    code: 'execution_reverted',
    message: 'ERC20InsufficientBalance',
  }),
)
