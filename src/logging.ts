/** Logs: one JSON object per line, constant messages with fields, and no secrets at any depth. */
import pino, { type Bindings, type ChildLoggerOptions, type Logger } from 'pino'
import { errorFields, withoutQuotedSecrets, withoutSecrets } from './redaction.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Destination of log lines; tests pass their own. */
export type LogDestination = { readonly write: (line: string) => void }

/**
 * @param processName included in every line: `api`, `signer`
 * @param destination default is standard output
 */
export function createLogger(
  { level, processName }: { readonly level: LogLevel; readonly processName: string },
  destination: LogDestination = standardOutput(),
): Logger {
  const logger = pino(
    {
      level,
      base: { process: processName },
      messageKey: 'message',
      errorKey: 'err',
      timestamp: isoTimestamp(),
      formatters: { level: (label) => ({ level: label }), log: (fields) => withoutSecrets(fields) },
      serializers: { err: errorFields, cause: errorFields },
      hooks: {
        // An error logged without a message lends the line its own message, which may quote secrets.
        logMethod(line, log) {
          const [first] = line as readonly unknown[]
          if (line.length === 1 && first instanceof Error) log.apply(this, [first, withoutQuotedSecrets(first.message)])
          else log.apply(this, line)
        },
      },
    },
    destination,
  )
  hideSecretsOfChildren(logger)
  return logger
}

let opened: LogDestination | undefined

/**
 * Standard output, written in blocks of 8 KiB, at least every 100 ms and at exit, so that logging does not block the
 * event loop on each line. All loggers of a process share it: each destination listens for the exit of the process.
 */
function standardOutput(): LogDestination {
  opened ??= flushedSoon(pino.destination({ dest: 1, sync: false, minLength: 8_192 }))
  return opened
}

const FLUSH_MS = 100

/** SonicBoom's own periodic flush also writes when there is nothing to write, which wakes a thread of an idle process. */
function flushedSoon(destination: ReturnType<typeof pino.destination>): LogDestination & { flushSync: () => void } {
  let isDue = false
  return {
    write(line) {
      destination.write(line)
      if (isDue) return
      isDue = true
      setTimeout(() => {
        isDue = false
        destination.flush()
      }, FLUSH_MS).unref()
    },
    flushSync: () => destination.flushSync(),
  }
}

/**
 * ISO 8601 UTC with milliseconds. The date part is formatted once a second: otherwise it is a third of a line's cost.
 */
function isoTimestamp(): () => string {
  let second = Number.NaN
  let prefix = ''
  return () => {
    const now = Date.now()
    const milliseconds = now % 1_000
    if (now - milliseconds !== second) {
      second = now - milliseconds
      prefix = `,"time":"${new Date(second).toISOString().slice(0, -4)}`
    }
    return `${prefix}${String(milliseconds).padStart(3, '0')}Z"`
  }
}

/**
 * The bindings of a child are serialized when the child is created, without the formatters. Children of children
 * inherit this.
 */
function hideSecretsOfChildren(logger: Logger): void {
  const { child } = logger
  Object.defineProperty(logger, 'child', {
    value(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): Logger {
      return Reflect.apply(child, this, [withoutSecrets(bindings), options])
    },
  })
}
