/** Readers of the log that are behind it: subscriptions, and the event streams of API processes. Pure. */
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import { type Finding, step } from '../finding.ts'
import type { ProcessNow, ReaderNow } from '../for-operators.ts'
import { duration, startProcess } from '../words.ts'
import type { ServiceFacts, SubscriptionNow } from './service-facts.ts'

/** Same as `/readyz`. */
const SUBSCRIPTION_LAG_MS = 30_000

/** @param readers those of capabilities: each knows itself whether its subscription is behind */
export function judgeReaders({ subscriptions, processes }: ServiceFacts, readers: readonly ReaderNow[]): Finding[] {
  return [
    ...subscriptions
      .filter(({ name }) => !readers.some(({ subscription }) => subscription === name))
      .flatMap((one) => judgeSubscription(one, 'dispatcher')),
    ...readers.flatMap(({ subscription, lagMs, process }) => judgeSubscription({ name: subscription, lagMs }, process)),
    ...processes.flatMap(judgeFeed),
  ]
}

function judgeSubscription({ name, lagMs }: SubscriptionNow, process: string): Finding[] {
  if (lagMs <= SUBSCRIPTION_LAG_MS) return []
  return [
    {
      kind: 'subscription_behind',
      subject: name,
      problem: `${name} is behind: its oldest unread event was recorded ${duration(lagMs)} ago.`,
      forMs: lagMs,
      next: [step('Start it, or start another one to take over.', startProcess(process))],
    },
  ]
}

/** A live API process reports how far its event streams are behind. */
function judgeFeed({ process, instance, silentMs, problem }: ProcessNow): Finding[] {
  if (process !== 'api' || silentMs > FRESH_SECONDS * 1_000 || problem === null) return []
  return [
    {
      kind: 'feed_behind',
      subject: `${process} ${instance}`,
      problem: `${problem} Its clients get new events late; none is lost.`,
      forMs: null,
      next: [
        step('Read its log: it names what fails.', 'docker compose logs --since 10m api'),
        step('Restart it: its clients connect again and continue where they were.', 'docker compose restart api'),
      ],
    },
  ]
}
