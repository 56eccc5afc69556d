/** The operator commands that no capability gives. */
import type { Within } from '../cli/command.ts'
import type { Catalogue } from '../core/registry.ts'
import { explainCommand } from './explain/explain-command.ts'
import type { InHelp } from './for-operators.ts'
import { laneCommand } from './lanes/lane-command.ts'
import { lanesCommand } from './lanes/lanes-command.ts'
import { networksCommand } from './networks-command.ts'
import { type OperatorContext, tellingOutages } from './operator-context.ts'
import { queuesCommand } from './queues-command.ts'
import { stuckCommand } from './stuck/stuck-command.ts'

/** @param kinds what each kind of finding means */
export function operatorCommands(opens: Within<OperatorContext>, kinds: Catalogue['findings']): readonly InHelp[] {
  const within = tellingOutages(opens)
  return [
    { place: 10, command: stuckCommand(within, kinds) },
    ...[lanesCommand, laneCommand, queuesCommand].map((command) => ({ place: 10, command: command(within) })),
    ...[networksCommand, explainCommand].map((command) => ({ place: 30, command: command(within) })),
  ]
}
