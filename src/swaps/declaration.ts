/** The declaration of swaps: quotes. */
import type { Declaration } from '../core/declaration.ts'

export const swaps = {
  name: 'swaps',
  ids: { quote: 'quo' },
  tables: {
    swap_quotes: {
      beside: 'what exchanges answered at a block, for half a minute; another installation asks them again',
      grants: { api: 'SELECT, INSERT, DELETE', operator: 'SELECT' },
    },
  },
} as const satisfies Declaration
