/** What a transaction says of its swap: in the API, in public events, of a failure, and to operators. */
import { nullable } from '../http/schemas.ts'
import { anyPart } from '../transactions/parts.ts'
import type { SwapIntent } from './part.ts'
import { swapAtEventSchema, swapPartSchema } from './part-schemas.ts'
import {
  afterFailure,
  explainAccepted,
  explainMined,
  FELL_SHORT,
  type SwapView,
  swapAtEvent,
  toSwapView,
} from './part-view.ts'
import { swapFailure } from './swap-failure.ts'

export const swapPart = anyPart<SwapIntent, SwapView>({
  schema: swapPartSchema,
  view: toSwapView,
  atEvent: { schema: nullable(swapAtEventSchema), view: swapAtEvent },
  confirmed: {
    [FELL_SHORT]: {
      description:
        'A swap was confirmed, and less arrived than it had to give: `swap.missing_to_amount` says how much.',
      when: ({ missing_to_amount }) => missing_to_amount !== null,
    },
  },
  failure: (failure, { part: { amountType }, to }) => swapFailure(failure, { amountType, router: to }),
  explains: { accepted: explainAccepted, mined: explainMined, afterFailure },
})
