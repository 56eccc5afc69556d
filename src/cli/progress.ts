/** Shows the progress of long work: a bar on a terminal, a line every few seconds in a log. */
import type { WriteStream } from 'node:tty'
import { Presets, SingleBar } from 'cli-progress'
import type { CliIo, Progress } from './command.ts'

/** Interval of the lines in a log. */
const LINE_EVERY_MS = 5_000

/** @param out stream of the progress, never the stream of the result */
export function showProgress(out: WriteStream, { unit, total }: Parameters<CliIo['progress']>[0]): Progress {
  return out.isTTY ? bar(out, unit, total) : lines(out, unit, total)
}

function bar(stream: WriteStream, unit: string, total: number | null): Progress {
  const format =
    total === null
      ? `{value} ${unit} in {duration_formatted}`
      : `{bar} {percentage} % · {value} of {total} ${unit} · {eta_formatted} left`
  const shown = new SingleBar(
    { format, stream, hideCursor: true, clearOnComplete: true, etaBuffer: 100 },
    Presets.shades_classic,
  )
  shown.start(total ?? 0, 0)
  return { at: (done) => shown.update(done), end: () => shown.stop() }
}

function lines(out: WriteStream, unit: string, total: number | null): Progress {
  const startedAt = performance.now()
  let toldAt = startedAt
  return {
    at(done) {
      const now = performance.now()
      if (now - toldAt < LINE_EVERY_MS) return
      toldAt = now
      const perSecond = Math.round((done * 1_000) / (now - startedAt))
      out.write(`${done}${total === null ? '' : ` of ${total}`} ${unit}, ${perSecond} per second\n`)
    },
    end: () => undefined,
  }
}
