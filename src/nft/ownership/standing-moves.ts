/**
 * The recorded moves of a collection above a block: the end of its stream, read backwards as far as needed. Only the
 * log stores moves.
 */
import type { Pool } from 'pg'
import { upcast } from '../../event-log/aggregate.ts'
import type { EventRow } from '../../event-log/rows.ts'
import { EVENTS } from '../../event-log/sql.ts'
import { ownershipAggregate } from './aggregate.ts'
import type { MovesOfBlock, OwnershipEvent } from './events.ts'

/** Blocks per read: reorgs are rarely deeper. */
const CHUNK = 32

type TailRow = Pick<EventRow, 'stream_version' | 'type' | 'schema_version' | 'data'>

/** The blocks above the ancestor whose moves were recorded and not undone, newest first. */
export async function standingMoves(pool: Pool, collectionId: string, ancestor: number): Promise<MovesOfBlock[]> {
  const standing: MovesOfBlock[] = []
  const undone: string[] = []
  for await (const { type, data } of readBackwards(pool, collectionId)) {
    if (type === 'OwnershipReorged') undone.push(data.blockHash)
    // A block may leave the chain and come back: its newest recording was undone last.
    else if (undone.at(-1) === data.blockHash) undone.pop()
    else if (data.blockNumber <= ancestor) break
    else standing.push(withoutTime(data))
  }
  return standing
}

async function* readBackwards(pool: Pool, collectionId: string): AsyncGenerator<OwnershipEvent> {
  const streamId = `${ownershipAggregate.category}-${collectionId}`
  for (let before = 2 ** 31 - 1; ; ) {
    const { rows } = await pool.query<TailRow>({
      name: 'ownership_tail',
      text: `SELECT stream_version, type, schema_version, data FROM ${EVENTS} AS events
              WHERE stream_id = $1 AND stream_version < $2 ORDER BY stream_version DESC LIMIT $3`,
      values: [streamId, before, CHUNK],
    })
    for (const { type, schema_version, data } of rows) {
      yield upcast<OwnershipEvent>(ownershipAggregate.schemas, type, schema_version, data)
    }
    const last = rows.at(-1)
    if (last === undefined) return
    before = last.stream_version
  }
}

function withoutTime({ chainId, contract, blockNumber, blockHash, moves }: MovesOfBlock): MovesOfBlock {
  return { chainId, contract, blockNumber, blockHash, moves }
}
