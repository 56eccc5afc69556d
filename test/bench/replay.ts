/** The speed of folding the log through every projection, compared with a bare read in the same order. */
import pg from 'pg'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { beginSnapshot, readStreams } from '../../src/event-log/read-streams.ts'
import { replay } from '../../src/event-log/replay.ts'
import { withSessions } from '../../src/event-log/session.ts'
import type { Figure } from './report.ts'
import type { Subject } from './subject.ts'

export async function benchReplay(subject: Subject): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 2 })
  await replay(pool, LOG_CONTENTS) // Warm: code and pages.
  const ceiling = await timed(() =>
    withSessions(pool, ['bench'], async (reader) => {
      await beginSnapshot(reader)
      let read = 0
      for await (const rows of readStreams(reader, {})) read += rows.length
      return read
    }),
  )
  const ours = await timed(async () => (await replay(pool, LOG_CONTENTS)).events)
  await pool.end()
  return [
    {
      bench: 'replay',
      unit: 'events/s',
      ours: ours.perSecond,
      ceiling: ceiling.perSecond,
      ceilingIs: 'a bare read of the log, stream by stream',
      note: `${ours.events.toLocaleString('en-US')} events`,
    },
  ]
}

async function timed(run: () => Promise<number>): Promise<{ events: number; perSecond: number }> {
  const startedAt = performance.now()
  const events = await run()
  return { events, perSecond: events / ((performance.now() - startedAt) / 1_000) }
}
