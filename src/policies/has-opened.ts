/** Whether a tenant has ever asked for anything that policies judge. */
import type { LogOwner } from '../event-log/read-logged.ts'
import { findNewestPlace, readTenantDataOfTypes } from '../event-log/read-tenant-data.ts'
import { LOG_START, type SubscriptionPosition } from '../event-log/subscription.ts'
import { createPast, pastTypes } from './past.ts'
import type { PastPorts } from './read-past.ts'

const PAGE = 1_000

/** Of all that is committed when it is called. */
export async function hasOpened({ pool, source, chains }: PastPorts, owner: LogOwner): Promise<boolean> {
  const past = createPast(owner, { source, chains, isAnyPrice: true })
  const { dataOf: types } = pastTypes(source)
  const until = await findNewestPlace(pool, owner)
  for (let after: SubscriptionPosition | null = LOG_START; after !== null; ) {
    const { events, next } = await readTenantDataOfTypes(pool, owner, { after, until, types }, PAGE)
    if (events.some((event) => past.take(event)?.is === 'request')) return true
    after = next
  }
  return false
}
