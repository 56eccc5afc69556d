/** What the commands of this folder have. Types alone. */
import type { Context } from '../context.ts'
import type { LogContents } from '../event-log/fold.ts'

export type ReplayContext = Pick<Context, 'pool' | 'clock'> & {
  readonly contents: LogContents
}
