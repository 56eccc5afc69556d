/** What operators have of swaps: the command that deploys their guard, and what `stuck` finds. */
import { type Finding, step } from '../operator/finding.ts'
import type { FindingSource, InHelp, Opens, ServiceNow } from '../operator/for-operators.ts'
import { FRESH_SECONDS } from '../wallets/signer-presence.ts'
import { deployGuardCommand } from './guard-command.ts'

export function commands({ within }: Opens): readonly InHelp[] {
  return [{ place: 60, command: deployGuardCommand((task) => within((ctx) => task(ctx.api()))) }]
}

export const findings: readonly FindingSource[] = [{ place: 40, read: async () => ({ judge: judgeSubmitters }) }]

/** A live submitter reports the swaps that it leaves, because its settings lack the relays of the requests. */
export function judgeSubmitters({ processes }: Pick<ServiceNow, 'processes'>): readonly Finding[] {
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
