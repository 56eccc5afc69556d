/** The audit commands of `npm run bursar`, each with its dependencies. */

import { requestAnchor } from '../audit/anchor/request-anchor.ts'
import { PUBLIC_SUFFIX } from '../audit/checkpoints/audit-key.ts'
import { openTakeCheckpoint, rotateAuditKey } from '../audit/checkpoints/open-take-checkpoint.ts'
import { checkpointCommand } from '../audit/commands/checkpoint-command.ts'
import { checkCommand, proveCommand } from '../audit/commands/proof-commands.ts'
import { rotateAuditKeyCommand } from '../audit/commands/rotate-key-command.ts'
import { setAsideCommand } from '../audit/commands/set-aside-command.ts'
import { verifyCommand } from '../audit/commands/verify-command.ts'
import { judgeEvent } from '../audit/set-aside/judge-event.ts'
import type { CliCommand, Within } from '../cli/command.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { createApiContext } from './api-context.ts'
import { ALL_AGGREGATES, CHECKED_MODELS, KNOWN_EVENTS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { withKernel } from './run-command.ts'

export function auditCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  const within =
    <Ports>(portsOf: (kernel: Kernel) => Ports | Promise<Ports>): Within<Ports> =>
    (task) =>
      withKernel(env, async (kernel) => task(await portsOf(kernel)))
  return [
    verifyCommand(
      within(({ config, chains }) => ({
        chains: chains.all.map(({ settings: { chainId, network }, agreed }) => ({ chainId, network, agreed })),
        models: CHECKED_MODELS,
        aggregates: ALL_AGGREGATES,
        databaseUrl: config.databaseUrl ?? '',
        publicKeyFile: `${config.audit.keyFile}${PUBLIC_SUFFIX}`,
        checkpointFile: config.audit.checkpointFile,
        isCheckpointFileNamed: config.audit.isCheckpointFileNamed,
      })),
    ),
    checkpointCommand(
      within(async (kernel) => ({
        takeCheckpoint: await openTakeCheckpoint(kernel, KNOWN_EVENTS),
        checkpointFile: kernel.config.audit.checkpointFile,
        requestAnchor: (checkpoint, walletId) =>
          requestAnchor({ ...createApiContext(kernel), factsOf: createWalletFacts(kernel.pool) }, checkpoint, walletId),
      })),
    ),
    proveCommand(
      within(({ pool, config }) => ({
        pool,
        publicKeyFile: `${config.audit.keyFile}${PUBLIC_SUFFIX}`,
      })),
    ),
    checkCommand(),
    setAsideCommand(within(({ log, pool }) => ({ log, judgeEvent: (name) => judgeEvent(pool, ALL_AGGREGATES, name) }))),
    rotateAuditKeyCommand(
      within((kernel) => ({
        rotateAuditKey: (onProgress) => rotateAuditKey(kernel, KNOWN_EVENTS, onProgress),
        publicKeyFile: `${kernel.config.audit.keyFile}${PUBLIC_SUFFIX}`,
      })),
    ),
  ]
}
