/**
 * Compares an exported log, event by event, with signed checkpoints: the file must be complete and in order, or it is
 * refused.
 */
import { BadExport, type ExportedEvent } from '../../event-log/export-format.ts'
import { EMPTY_ROOT } from '../merkle/hashes.ts'
import { leafOf } from '../tree/leaf.ts'
import type { KnownCheckpoint } from './evidence.ts'
import { createCompactTree } from './verify-tree.ts'

export type ExportedLogCheck = {
  /** @param event the next in reading order. Its hash is trusted: check the chains separately */
  readonly take: (event: ExportedEvent) => void
  /** @throws BadExport when the log ends before a checkpoint, or its root differs from one */
  readonly judge: () => void
}

export function createExportedLogCheck(checkpoints: readonly KnownCheckpoint[]): ExportedLogCheck {
  const tree = createCompactTree()
  const bySize = new Map<number, KnownCheckpoint[]>()
  for (const checkpoint of checkpoints)
    bySize.set(checkpoint.size, [...(bySize.get(checkpoint.size) ?? []), checkpoint])

  function requireRoot(): void {
    const root = tree.size() === 0 ? EMPTY_ROOT : tree.root()
    for (const checkpoint of bySize.get(tree.size()) ?? []) {
      if (checkpoint.root.equals(root)) continue
      throw new BadExport(
        `The checkpoint over ${checkpoint.size} events of ${checkpoint.source} does not match the root of the file at that size: the file is not the signed log.`,
      )
    }
  }

  requireRoot()
  return {
    take({ stream_id: streamId, stream_version: streamVersion, hash }) {
      tree.append(leafOf({ streamId, streamVersion, hash }))
      if (bySize.has(tree.size())) requireRoot()
    },
    judge() {
      const beyond = checkpoints.find(({ size }) => size > tree.size())
      if (beyond === undefined) return
      throw new BadExport(
        `The checkpoint of ${beyond.source} covers ${beyond.size} events, but the file has ${tree.size()}: its last ${beyond.size - tree.size()} events are missing. Export the log again.`,
      )
    },
  }
}
