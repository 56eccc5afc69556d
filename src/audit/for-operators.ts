/** What operators have of the audit: its commands, and what `stuck` finds. */
import type { Capability } from '../capability.ts'
import type { Within } from '../cli/command.ts'
import { eventIdOf } from '../core/event-ids.ts'
import { type AnyAggregate, knownEvents } from '../event-log/fold.ts'
import { type Finding, step } from '../operator/finding.ts'
import type { CommandContext, FindingSource, InHelp, Opens, ServiceNow } from '../operator/for-operators.ts'
import { bursar } from '../operator/words.ts'
import { FRESH_SECONDS } from '../wallets/signer-presence.ts'
import { createWalletFacts } from '../wallets/wallet-facts.ts'
import { requestAnchor } from './anchor/request-anchor.ts'
import { PUBLIC_SUFFIX } from './checkpoints/audit-key.ts'
import { openTakeCheckpoint, rotateAuditKey } from './checkpoints/open-take-checkpoint.ts'
import { checkpointCommand } from './commands/checkpoint-command.ts'
import { checkCommand, proveCommand } from './commands/proof-commands.ts'
import { rotateAuditKeyCommand } from './commands/rotate-key-command.ts'
import { setAsideCommand } from './commands/set-aside-command.ts'
import { verifyCommand } from './commands/verify-command.ts'
import { badEventsText, type OpenBadEvents, readOpenBadEvents } from './found-bad.ts'
import { judgeEvent } from './set-aside/judge-event.ts'

export function commands({ within }: Opens): readonly InHelp[] {
  const having =
    <Ports>(portsOf: (ctx: CommandContext) => Ports | Promise<Ports>): Within<Ports> =>
    (task) =>
      within(async (ctx) => task(await portsOf(ctx)))
  return [
    verifyCommand(
      having(({ config, chains, capabilities }) => ({
        chains: chains.all.map(({ settings: { chainId, network }, agreed }) => ({ chainId, network, agreed })),
        models: capabilities.flatMap(({ verified = [] }) => verified),
        aggregates: aggregatesOf(capabilities),
        databaseUrl: config.databaseUrl ?? '',
        publicKeyFile: publicKeyFile(config),
        checkpointFile: config.audit.checkpointFile,
        isCheckpointFileNamed: config.audit.isCheckpointFileNamed,
      })),
    ),
    checkpointCommand(
      having(async (ctx) => ({
        takeCheckpoint: await openTakeCheckpoint(ctx, knownEvents(aggregatesOf(ctx.capabilities))),
        checkpointFile: ctx.config.audit.checkpointFile,
        requestAnchor: (checkpoint, walletId) =>
          requestAnchor({ ...ctx.api(), factsOf: createWalletFacts(ctx.pool) }, checkpoint, walletId),
      })),
    ),
    proveCommand(having(({ pool, config }) => ({ pool, publicKeyFile: publicKeyFile(config) }))),
    checkCommand(),
    setAsideCommand(
      having(({ log, pool, capabilities }) => ({
        log,
        judgeEvent: (name) => judgeEvent(pool, aggregatesOf(capabilities), name),
      })),
    ),
    rotateAuditKeyCommand(
      having((ctx) => ({
        rotateAuditKey: (onProgress) => rotateAuditKey(ctx, knownEvents(aggregatesOf(ctx.capabilities)), onProgress),
        publicKeyFile: publicKeyFile(ctx.config),
      })),
    ),
  ].map((command) => ({ place: 90, command }))
}

export const findings: readonly FindingSource[] = [
  { place: 30, read: async () => ({ judge: judgeAuditors }) },
  {
    place: 120,
    async read({ pool }) {
      const open = await readOpenBadEvents(pool)
      return { judge: () => judgeBadEvents(open) }
    },
  },
]

/** A live auditor reports why it signs nothing. */
export function judgeAuditors({ processes }: Pick<ServiceNow, 'processes'>): readonly Finding[] {
  return processes
    .filter(
      ({ process, silentMs, problem }) =>
        process === 'auditor' && silentMs <= FRESH_SECONDS * 1_000 && problem !== null,
    )
    .map(({ process, instance, problem }) => ({
      kind: 'audit_stopped',
      subject: `${process} ${instance}`,
      problem: `The auditor signs no checkpoints. ${problem}`,
      forMs: null,
      next: [
        step('Find the first event that differs from what was signed.', bursar('audit verify')),
        step('Read its log: it tries again.', 'docker compose logs --since 10m auditor'),
        step('After a restore: docs/operations.md, "A log that is shorter than the auditor\'s file".'),
      ],
    }))
}

/** What the auditor found and nobody has set aside: one finding, about the first. */
export function judgeBadEvents(open: OpenBadEvents): readonly Finding[] {
  const text = badEventsText(open)
  if (open.first === null || text === null) return []
  const eventId = eventIdOf(open.first)
  return [
    {
      kind: 'bad_event',
      subject: `event ${eventId}`,
      problem: `${text} Only its stream is held; everything else goes on.`,
      forMs: null,
      next: [
        step(
          'List every bad event, and find out who appended it: docs/operations.md, "A bad event".',
          bursar('audit verify'),
        ),
        step('When it is clear how it came there, set it aside.', bursar(`audit set-aside ${eventId} --reason "…"`)),
      ],
    },
  ]
}

function aggregatesOf(capabilities: readonly Capability[]): readonly AnyAggregate[] {
  return capabilities.flatMap(({ aggregates = [] }) => aggregates)
}

function publicKeyFile({ audit }: CommandContext['config']): string {
  return `${audit.keyFile}${PUBLIC_SUFFIX}`
}
