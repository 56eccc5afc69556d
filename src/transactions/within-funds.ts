/**
 * What a lane signs costs no more than its wallet has when it is recorded. Requests may be accepted, and other holds grow,
 * between the reading of what is spare and the append, which then refuses the bytes: they are signed again for less.
 */
import { HoldRefused } from '../event-log/commit.ts'

/**
 * Tries with what is spare, then with what is left of it, and at last with nothing but the transactions' own holds, which no
 * append refuses.
 *
 * @param spare as read before, wei
 * @param read reads it again
 * @param attempt signs for no more than these funds beside the holds, wei, and appends
 */
export async function withinFunds<Result>(
  spare: bigint,
  read: () => Promise<bigint>,
  attempt: (funds: bigint) => Promise<Result>,
): Promise<Result> {
  for (const funds of [async () => spare, read]) {
    try {
      return await attempt(await funds())
    } catch (error) {
      if (!(error instanceof HoldRefused)) throw error
    }
  }
  return attempt(0n)
}
