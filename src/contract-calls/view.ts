/** Results of calls in the form of the API. */
import type { View } from '../http/view.ts'
import type { triedCallSchema } from './schemas.ts'

export type TriedCallView = View<typeof triedCallSchema>
