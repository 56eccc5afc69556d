/** Checkpoints that an operator has of a log, as evidence for its import: they need no database. */
import { readFile } from 'node:fs/promises'
import { BadInput } from '../../cli/command.ts'
import { isMissing } from '../../keys/private-files.ts'
import type { SignedEvidence } from '../../replay/import-command.ts'
import { readVerifier } from '../checkpoints/audit-key.ts'
import { keyHistory } from '../note/key-history.ts'
import { createExportedLogCheck } from './exported-log.ts'
import { checkpointsIn, openNotes, requireEvidence } from './known-checkpoints.ts'

/** @throws BadInput for a missing file, and for one without a valid checkpoint; TreeDamaged for a checkpoint that the key did not sign */
export async function openEvidence(checkpointFile: string, key: string): Promise<SignedEvidence> {
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
