/** A transaction's history in time order, step by step, each fact with its source. Pure. */
import { apiKeyOf, type RecordedEvent } from '../../core/messages.ts'
import { isOpening } from '../../transactions/all-events.ts'
import { duration } from '../words.ts'
import type { StoryFacts } from './read-story.ts'
import { tellEvent } from './tell-event.ts'
import { tellOpening } from './tell-opening.ts'
import type { Told } from './told.ts'

export type StoryStep = Told & {
  readonly at: string
  /** Ms since the previous step; `null` for the first. */
  readonly afterMs: number | null
  /** What that time was spent on. */
  readonly waited: string | null
  readonly event: string
  readonly who: string
}

export function tellStory(facts: StoryFacts): StoryStep[] {
  return facts.events.map((event, index) => {
    const before = facts.events[index - 1]
    const afterMs = before === undefined ? null : Date.parse(event.recordedAt) - Date.parse(before.recordedAt)
    return {
      at: event.recordedAt,
      afterMs,
      waited: afterMs === null ? null : `${duration(afterMs)}${WAITED[event.type] ?? ''}`,
      event: event.type,
      who: whoDid(event, facts.keyLabels),
      ...(isOpening(event) ? tellOpening(event, facts) : tellEvent(event, facts, index)),
    }
  })
}

/** What a transaction waits for before an event of this type. */
const WAITED: Readonly<Record<string, string>> = {
  TransactionSigned: ' until it was signed',
  TransactionReplaced: ' in no block',
  TransactionSubmitted: ' until a node accepted it',
  TransactionMined: ' until it was mined',
  TransactionConfirmed: ' until it had its confirmations',
  TransactionReverted: ' until it had its confirmations',
  NonceConsumedExternally: " until the other transaction's block was final",
}

export function whoDid(
  { metadata: { actor, tenantId } }: Pick<RecordedEvent, 'metadata'>,
  labels: ReadonlyMap<string, string>,
): string {
  const id = apiKeyOf(actor)
  if (id === null) return actor
  const label = labels.get(id)
  return `API key ${label ? `"${label}" ` : ''}${id} of tenant ${tenantId}`
}
