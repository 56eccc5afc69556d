/** The Prometheus metrics of a process. Other modules get its functions and do not depend on Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Count, DeclaredMetrics, SetLevel, Time } from '../core/registry.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/**
 * Timer behind the metrics `nodejs_eventloop_lag_*`, whose values include it. The default, 10 ms, takes 0.4 % of a core
 * in each process at rest; 100 ms takes 0.06 %.
 */
const LAG_PRECISION_MS = 500
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** A number for each combination of labels, read at each scrape. */
export type Reading = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type Metrics = {
  readonly registry: Registry
  readonly count: Count
  readonly time: Time
  readonly setLevel: SetLevel
  /** One answered request. `route` is the template, not the path, to keep the number of labels small. */
  readonly observeRequest: (request: { method: string; route: string; status: number; durationMs: number }) => void
  /** One batch of commits that became durable. */
  readonly observeAppend: (batch: { readonly commits: number; readonly durationMs: number }) => void
  /** One JSON-RPC call or batch. */
  readonly observeRpc: (call: { network: string; method: string; outcome: string; durationMs: number }) => void
  /** One finished job. */
  readonly observeJob: (job: { queue: string; outcome: string; durationMs: number }) => void
  /** Adds a gauge that is read at each scrape: jobs by queue and state, lanes held, lags. */
  readonly addGauge: (
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Promise<readonly Reading[]>,
  ) => void
}

const HELP = {
  requests: 'Duration of HTTP requests in seconds.',
  appends: 'Duration of appends to the event log in seconds. An append is one batch of commits.',
  calls: 'Duration of JSON-RPC calls in seconds.',
  jobs: 'Duration of jobs in seconds.',
  batches: 'Commits per append to the event log.',
  failures: 'Gauge reads that failed, by gauge.',
}

/**
 * @param processName `api`, `signer`, …: a label on every metric of this process
 * @param declared by capabilities
 */
export function createMetrics(processName: string, declared: DeclaredMetrics): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels({ process: processName })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  const registers = [registry]
  const timer = (name: string, help: string, labelNames: readonly string[], buckets = SECONDS) =>
    new Histogram({ name, help, labelNames, buckets, registers })

  const requests = timer('bursar_http_request_duration_seconds', HELP.requests, ['method', 'route', 'status'])
  const appends = timer('bursar_append_duration_seconds', HELP.appends, [])
  const calls = timer('bursar_rpc_duration_seconds', HELP.calls, ['network', 'method', 'outcome'])
  const jobs = timer('bursar_job_duration_seconds', HELP.jobs, ['queue', 'outcome'])
  const batches = new Histogram({
    name: 'bursar_append_batch_commits',
    help: HELP.batches,
    buckets: BATCH_SIZES,
    registers,
  })
  const unread = { name: 'bursar_gauge_failures_total', help: HELP.failures, labelNames: ['gauge'] }
  const failures = new Counter({ ...unread, registers })

  return {
    ...declaredMetrics(registry, declared),
    registry,
    observeRequest: ({ method, route, status, durationMs }) =>
      requests.observe({ method, route, status }, durationMs / 1_000),
    observeAppend({ commits, durationMs }) {
      batches.observe(commits)
      appends.observe(durationMs / 1_000)
    },
    observeRpc: ({ durationMs, ...labels }) => calls.observe(labels, durationMs / 1_000),
    observeJob: ({ durationMs, ...labels }) => jobs.observe(labels, durationMs / 1_000),
    addGauge(name, gaugeHelp, labelNames, read) {
      new Gauge({
        name,
        help: gaugeHelp,
        labelNames,
        registers,
        async collect() {
          this.reset()
          try {
            for (const { labels, value } of await read()) this.set(labels, value)
          } catch {
            // A gauge that cannot be read is left out and counted: the other metrics matter most during an outage.
            if (labelNames.length === 0) this.remove()
            failures.inc({ gauge: name })
          }
        },
      })
    },
  }
}

function declaredMetrics(registry: Registry, declared: DeclaredMetrics): Pick<Metrics, 'count' | 'time' | 'setLevel'> {
  const registers = [registry]
  const counters = made(
    declared.counters,
    ({ help, labels }, name) => new Counter({ name, help, labelNames: labels, registers }),
  )
  const timers = made(
    declared.timers,
    ({ help, labels, buckets = SECONDS }, name) =>
      new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers }),
  )
  const levels = made(
    declared.levels,
    ({ help, labels }, name) => new Gauge({ name, help, labelNames: labels, registers }),
  )
  return {
    count: (name, labels, by = 1) => counters.get(name)?.inc(labels, by),
    time: (name, labels, ms) => timers.get(name)?.observe(labels, ms / 1_000),
    setLevel: (name, labels, value) => levels.get(name)?.set(labels, value),
  }
}

function made<Declared, Metric>(
  declared: Readonly<Record<string, Declared>>,
  make: (declared: Declared, name: string) => Metric,
): ReadonlyMap<string, Metric> {
  return new Map(Object.entries(declared).map(([name, metric]) => [name, make(metric, name)]))
}
