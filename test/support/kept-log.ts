/** A process log that a test reads. */
import { type Logger, pino } from 'pino'

export type LogLine = { readonly level: number; readonly msg: string; readonly [field: string]: unknown }

/** Keeps every line from level `info` on. */
export function keptLog(onLine: (line: LogLine) => void = () => undefined): {
  readonly lines: readonly LogLine[]
  readonly logger: Logger
} {
  const lines: LogLine[] = []
  const write = (text: string) => {
    const line = JSON.parse(text) as LogLine
    lines.push(line)
    onLine(line)
  }
  return { lines, logger: pino({ level: 'info' }, { write }) }
}
