/** The commands that replay, rebuild and move the log. */
import { readFile } from 'node:fs/promises'
import { readVerifier } from '../audit/checkpoints/audit-key.ts'
import { keyHistory } from '../audit/note/key-history.ts'
import { createExportedLogCheck } from '../audit/verify/exported-log.ts'
import { checkpointsIn, openNotes, requireEvidence } from '../audit/verify/known-checkpoints.ts'
import { BadInput, type CliCommand, type Within } from '../cli/command.ts'
import { TABLES } from '../declarations.ts'
import { isMissing } from '../keys/private-files.ts'
import { exportCommand } from '../replay/export-command.ts'
import { importCommand, type SignedEvidence } from '../replay/import-command.ts'
import { rebuildCommand } from '../replay/rebuild-command.ts'
import { replayCommand } from '../replay/replay-command.ts'
import type { ReplayContext } from '../replay/replay-context.ts'
import { LOG_CONTENTS } from './capabilities.ts'
import { withKernel } from './run-command.ts'

export function replayCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  const within: Within<ReplayContext> = (task) =>
    withKernel(env, ({ pool, clock }) => task({ pool, clock, contents: LOG_CONTENTS }))
  return [
    replayCommand(within),
    rebuildCommand(within, TABLES),
    exportCommand(within),
    importCommand(within, openEvidence),
  ]
}

async function openEvidence(checkpointFile: string, key: string): Promise<SignedEvidence> {
  const [text, verifier] = await Promise.all([
    readFile(checkpointFile, 'utf8').catch(missing('--checkpoints', checkpointFile)),
    readVerifier(key).catch(missing('--key', key)),
  ])
  const file = checkpointsIn(checkpointFile, text)
  const keys = keyHistory(verifier, file.notes)
  requireEvidence('--checkpoints', file, keys)
  const checkpoints = openNotes(file, keys)
  const size = Math.max(...checkpoints.map((checkpoint) => checkpoint.size))
  return { ...createExportedLogCheck(checkpoints), checkpoints: checkpoints.length, size, remark: file.remark }
}

function missing(option: string, path: string) {
  return (error: unknown): never => {
    throw isMissing(error) ? new BadInput(`${option}: the file ${path} does not exist.`) : error
  }
}
