/** Rendering from a checkpoint reads little of a long stream, and gives the bytes that the whole stream gives. */
import fc from 'fast-check'
import t from 'tap'
import type { EventRow } from '../../src/event-log/rows.ts'
import type { Render } from '../../src/feed/render.ts'
import { PUBLIC_LOG, renderFrom, toLogged } from '../support/public-log.ts'

const LENGTH = 2_500
const opening = PUBLIC_LOG.find(({ type }) => type === 'WatchStarted') as EventRow
const relabelled = PUBLIC_LOG.find(({ type }) => type === 'WalletRelabelled') as EventRow
const archived = PUBLIC_LOG.find(({ type }) => type === 'WalletArchived') as EventRow

/** One wallet with many changes. */
function longLog(name: string, length = LENGTH): EventRow[] {
  return Array.from({ length }, (_, n): EventRow => {
    const row = n === 0 ? opening : { ...relabelled, data: { ...(relabelled.data as object), label: `${name} ${n}` } }
    const place = {
      stream_id: 'wallet-wal_long',
      stream_version: n + 1,
      position: String(n),
      transaction_id: String(n),
    }
    return { ...row, ...place, hash: Buffer.from(`${name} ${n}`) }
  })
}

async function bytesOf(render: Render, rows: readonly EventRow[]): Promise<string> {
  return JSON.stringify(await render(rows.map(toLogged)))
}

function countingRender(log: readonly EventRow[]) {
  let read = 0
  const render = renderFrom(log, (events) => {
    read += events
  })
  return {
    async readFor(rows: readonly EventRow[]): Promise<number> {
      const before = read
      await render(rows.map(toLogged))
      return read - before
    },
  }
}

t.test(
  'in any order of reads, small memory or large, each event has the bytes of a fold from the beginning',
  async () => {
    const log = [...longLog('any', 700), ...PUBLIC_LOG]
    const expected = await Promise.all(log.map((row) => bytesOf(renderFrom(log), [row])))
    const batch = fc.tuple(fc.nat(log.length - 1), fc.integer({ min: 1, max: 60 }))
    const property = fc.asyncProperty(
      fc.array(batch, { maxLength: 12 }),
      fc.constantFrom(1, 3_000, 20_000, 1_000_000),
      async (batches, memory) => {
        const render = renderFrom(log, undefined, memory)
        for (const [from, count] of batches) {
          const rendered = await render(log.slice(from, from + count).map(toLogged))
          for (const [n, each] of rendered.entries()) if (JSON.stringify([each]) !== expected[from + n]) return false
        }
        return true
      },
    )
    await fc.assert(property, { numRuns: 60 })
  },
)

t.test('the next event of a long stream costs itself and the event of the checkpoint', async (t) => {
  const log = longLog('next')
  const { readFor } = countingRender(log)
  t.equal(await readFor(log.slice(-21, -20)), LENGTH - 20, 'the first one costs the stream')
  for (let n = -20; n < 0; n += 1) t.equal(await readFor([log.at(n) as EventRow]), 2)
})

t.test('readers at different places of a long stream do not cost it to each other', async (t) => {
  const log = longLog('many')
  const { readFor } = countingRender(log)
  await readFor(log.slice(-1))
  for (let n = 300; n < LENGTH; n += 301) t.ok((await readFor(log.slice(n, n + 1))) <= 258, `version ${n + 1}`)
  t.equal(await readFor(log.slice(301, 401)), 101, 'and each goes on from its own')
})

t.test('a log that was restored to an earlier state and went on differently is read again', async (t) => {
  const log = longLog('before')
  const render = renderFrom(log)
  await render(log.slice(-1).map(toLogged))
  const [first, ...after] = longLog('after').slice(600)
  // What the later events keep.
  log.splice(600, LENGTH, { ...(first as EventRow), type: archived.type, data: archived.data }, ...after)
  const bytes = await bytesOf(render, log.slice(-1))
  t.match(bytes, /"status":"archived"/)
  t.equal(bytes, await bytesOf(renderFrom(log), log.slice(-1)))
  log.splice(1_000)
  await t.rejects(render([toLogged(after[399] as EventRow)]), /does not have version/)
})
