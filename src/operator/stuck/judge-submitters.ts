/** Submitters that leave swaps, because their settings lack the relays of the requests. Pure. */
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import { type Finding, step } from '../finding.ts'
import type { ServiceFacts } from './service-facts.ts'

/** A live submitter reports what it leaves. */
export function judgeSubmitters({ processes }: ServiceFacts): Finding[] {
  return processes
    .filter(
      ({ process, silentMs, problem }) =>
        process === 'submitter' && silentMs <= FRESH_SECONDS * 1_000 && problem !== null,
    )
    .map(({ process, instance, problem }) => ({
      kind: 'relay_missing',
      subject: `${process} ${instance}`,
      problem: `${problem} No node gets them. Without a submitter that has a relay of theirs, they are cancelled after their deadlines.`,
      forMs: null,
      next: [
        step(
          'Give all processes the same setting, and restart this submitter.',
          'docker compose up --detach submitter',
        ),
        step('Or cancel the swaps: a cancellation goes through the nodes.'),
      ],
    }))
}
