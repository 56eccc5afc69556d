/**
 * Runs a process: settings, parts, work, and an orderly shutdown. A bad setting stops the start with one line; SIGTERM
 * lets running work finish; a second signal ends immediately.
 */
import { useFastKeccak } from '../chain/fast-keccak.ts'
import { exitAfter } from '../cli/exit-after.ts'
import { printText } from '../cli/printed.ts'
import { type Config, ConfigError } from '../config.ts'
import { BursarError } from '../core/errors.ts'
import type { ProcessName } from '../core/processes.ts'
import { createReadiness, type ReadinessCheck } from '../http/health.ts'
import { type MetricsServer, startMetricsServer } from '../http/metrics-server.ts'
import { closeOnSignal } from '../http/shutdown.ts'
import { checkDatabase } from './check-database.ts'
import { startHeartbeat } from './heartbeat.ts'
import { composeKernel, type Kernel } from './kernel.ts'
import { loadConfig } from './load-config.ts'

/** The work of a process. `drain` stops taking new work and resolves when the started work has finished. */
export type Work = {
  readonly drain: () => Promise<void>
  readonly checks?: readonly ReadinessCheck[]
  /** What the process currently cannot do, for its heartbeat; `null` for nothing. */
  readonly problem?: () => string | null
}

/**
 * Starts a process, which runs until it is stopped.
 *
 * @param name its name, or a function that derives it from the settings
 * @param start begins the work; the signal aborts when the process is stopping
 */
export async function runProcess(
  name: ProcessName | ((config: Config) => ProcessName),
  start: (kernel: Kernel, signal: AbortSignal) => Promise<Work>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  useFastKeccak()
  const kernel = composeOrExit(env, name)
  const { logger, config } = kernel
  const stop = new AbortController()
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled promise rejection; report this as a bug')
    process.exit(1)
  })
  if (!config.database.tlsVerified)
    logger.warn(
      { setting: 'DATABASE_TLS' },
      'the database connection does not use verified TLS, because DATABASE_TLS is off',
    )
  const work = await startOrExit(async () => {
    await checkDatabase(kernel, stop.signal, exitWith)
    return start(kernel, stop.signal)
  })
  const heartbeat = startHeartbeat(kernel, work.problem)
  const metricsServer = await startMetrics(kernel, work)
  closeOnSignal({
    logger,
    graceMs: 2 * config.shutdownGraceMs,
    steps: [
      {
        name: 'work',
        close: () => {
          stop.abort()
          return work.drain()
        },
      },
      { name: 'heartbeat', close: heartbeat.stop },
      { name: 'metrics', close: async () => metricsServer?.close() },
      { name: 'connections', close: kernel.close },
    ],
  })
  logger.info({ pid: process.pid }, 'started')
}

async function startMetrics({ config, metrics, clock }: Kernel, { checks = [] }: Work): Promise<MetricsServer | null> {
  const { metricsPort: port } = config
  if (port === null) return null
  const readiness = createReadiness(checks, clock)
  return startMetricsServer({ host: config.api.host, port }, { metrics, readiness }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return exitWith(
      new ConfigError([
        `METRICS_PORT: port ${port} is in use: stop the program that listens on it, or set another port`,
      ]),
    )
  })
}

/** Expected errors are reported in one line: a wrong key, a damaged file. */
async function startOrExit(start: () => Promise<Work>): Promise<Work> {
  try {
    return await start()
  } catch (error) {
    if (!(error instanceof BursarError || error instanceof ConfigError)) throw error
    return exitWith(error)
  }
}

function exitWith(error: Error): never {
  printText(process.stderr, `${error.message}\n`)
  exitAfter(error)
}

function composeOrExit(env: NodeJS.ProcessEnv, name: Parameters<typeof runProcess>[0]): Kernel {
  try {
    const config = loadConfig(env)
    return composeKernel(config, typeof name === 'string' ? name : name(config))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return exitWith(error)
  }
}
