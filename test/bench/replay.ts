/** How fast the log folds through every projection, against a bare sequential read of it. */
import pg from 'pg'
import { ALL_AGGREGATES } from '../../src/compose/aggregates.ts'
import { readLog, replay } from '../../src/event-log/replay.ts'
import type { Figure } from './report.ts'
import type { Subject } from './subject.ts'

export async function benchReplay(subject: Subject): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 2 })
  await replay(pool, ALL_AGGREGATES) // Warm: code and pages.
  const ceiling = await timed(async () => {
    let read = 0
    for await (const rows of readLog(pool)) read += rows.length
    return read
  })
  const ours = await timed(async () => (await replay(pool, ALL_AGGREGATES)).events)
  await pool.end()
  return [
    {
      bench: 'replay',
      unit: 'events/s',
      ours: ours.perSecond,
      ceiling: ceiling.perSecond,
      ceilingIs: 'a bare sequential read of the log',
      note: `${ours.events.toLocaleString('en-US')} events`,
    },
  ]
}

async function timed(run: () => Promise<number>): Promise<{ events: number; perSecond: number }> {
  const startedAt = performance.now()
  const events = await run()
  return { events, perSecond: events / ((performance.now() - startedAt) / 1_000) }
}
