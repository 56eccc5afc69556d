/** The operator commands, in the order of the help. */
import type { CliCommand, Within } from '../cli/command.ts'
import { explainCommand } from './explain/explain-command.ts'
import { laneCommand } from './lanes/lane-command.ts'
import { lanesCommand } from './lanes/lanes-command.ts'
import { networksCommand } from './networks-command.ts'
import { type OperatorContext, tellingOutages } from './operator-context.ts'
import { queuesCommand } from './queues-command.ts'
import { stuckCommand } from './stuck/stuck-command.ts'
import { webhooksCommand } from './webhooks-command.ts'

export function operatorCommands(within: Within<OperatorContext>): readonly CliCommand[] {
  const commands = [
    stuckCommand,
    lanesCommand,
    laneCommand,
    queuesCommand,
    webhooksCommand,
    networksCommand,
    explainCommand,
  ]
  return commands.map((command) => command(tellingOutages(within)))
}
