/**
 * Reads the past of a tenant from the log in pages, once, in its order: what stood before the part that is read, and then every request
 * and outcome of it.
 */

import { performance } from 'node:perf_hooks'
import type { Context } from '../context.ts'
import type { LogOwner } from '../event-log/read-logged.ts'
import {
  type DataEvent,
  type DataPage,
  findNewestPlace,
  findPlaceAt,
  readTenantData,
  readTenantDataOfTypes,
} from '../event-log/read-tenant-data.ts'
import { LOG_START, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { KnownChain } from './facts.ts'
import { createPast, type Past, type PastSource, type PastStep, pastTypes } from './past.ts'

/** What the past of a tenant is read with. */
export type PastContext = Pick<Context, 'pool'> & {
  readonly source: PastSource
  readonly chains: readonly KnownChain[]
}

/** Events that one statement looks at: few enough that other requests of the process have their turn between. */
const PAGE = 1_000
/** Events are read for so long, ms: then it is the turn of others. A call can have a thousand calls in it. */
const TURN_MS = 10
/** As far as clocks of processes may differ from each other: what was requested by then is found. */
export const CLOCKS_APART_MS = 86_400_000

export type PastRange = {
  /** ms; the part that is read begins by what clocks may differ earlier. */
  readonly fromMs: number
  /** `null` for all that there is. */
  readonly toMs: number | null
  /**
   * Whether only events are read behind which none can appear: for readers who say how far they read. Without it, whatever was
   * committed before this is read, also behind transactions that still run.
   */
  readonly isGapless: boolean
  /** As in `createPast`; not by default. */
  readonly isAnyPrice?: boolean
}

/** `read`: events that were looked at, of whatever type; 0 if more of them follow. */
export type PastPage = { readonly steps: readonly PastStep[]; readonly read: number }

/** Ends at what the log had when it began. The next page is read while the caller works on one. */
export async function* readPast(
  { pool, source, chains }: PastContext,
  owner: LogOwner,
  { fromMs, toMs, isGapless, isAnyPrice = false }: PastRange,
): AsyncGenerator<PastPage> {
  const start = await findPlaceAt(pool, owner, new Date(fromMs - CLOCKS_APART_MS))
  const end = await (toMs === null
    ? findNewestPlace(pool, owner)
    : findPlaceAt(pool, owner, new Date(toMs + CLOCKS_APART_MS)))
  const past = createPast(owner, { source, chains, isAnyPrice })
  for await (const events of readTypes(pool, owner, { until: start, types: Object.keys(source.standing) })) {
    for (const event of events) past.take(event)
    yield { steps: [], read: events.length }
  }
  const part = { ...pastTypes(source), until: end, isGapless }
  const read = (after: SubscriptionPosition) => {
    const page = readTenantData(pool, owner, { ...part, after }, PAGE)
    // It may fail while the page before it is worked on.
    page.catch(() => undefined)
    return page
  }
  let reading: Promise<DataPage | undefined> = read(start)
  for (let page = await reading; page !== undefined; page = await reading) {
    reading = read(page.place)
    let [steps, begun]: [PastStep[], number] = [[], performance.now()]
    for (const event of page.events) {
      const step = past.take(event)
      if (step !== null) steps.push(step)
      if (performance.now() - begun < TURN_MS) continue
      yield { steps, read: 0 }
      await new Promise(setImmediate)
      ;[steps, begun] = [[], performance.now()]
    }
    yield { steps, read: page.read }
  }
}

/** What stands now: wallets, tokens and collections. The requests of the log are not read. */
export async function readStanding({ pool, source, chains }: PastContext, owner: LogOwner): Promise<Past> {
  const past = createPast(owner, { source, chains, isAnyPrice: true })
  const until = await findNewestPlace(pool, owner)
  for await (const events of readTypes(pool, owner, { until, types: Object.keys(source.standing) }))
    for (const event of events) past.take(event)
  return past
}

/** Whether the owner has ever asked for anything that policies judge: of all that is committed when it is called. */
export async function hasOpened({ pool, source, chains }: PastContext, owner: LogOwner): Promise<boolean> {
  const past = createPast(owner, { source, chains, isAnyPrice: true })
  const until = await findNewestPlace(pool, owner)
  for await (const events of readTypes(pool, owner, { until, types: pastTypes(source).dataOf }))
    if (events.some((event) => past.take(event)?.is === 'request')) return true
  return false
}

type Wanted = { readonly until: SubscriptionPosition; readonly types: readonly string[] }

async function* readTypes(
  pool: Context['pool'],
  owner: LogOwner,
  wanted: Wanted,
): AsyncGenerator<readonly DataEvent[]> {
  for (let after: SubscriptionPosition | null = LOG_START; after !== null; ) {
    const { events, next } = await readTenantDataOfTypes(pool, owner, { ...wanted, after }, PAGE)
    yield events
    after = next
  }
}
