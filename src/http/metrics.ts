/** The Prometheus metrics of a process. Other modules get its functions and do not depend on Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type ConnectionMetrics, createConnectionMetrics } from './connection-metrics.ts'
import { createLaneMetrics, type LaneMetrics } from './lane-metrics.ts'
import { createMpcMetrics, type MpcMetrics } from './mpc-metrics.ts'
import { createOutcomeMetrics, type OutcomeMetrics } from './outcome-metrics.ts'
import { createQuotaMetrics, type QuotaMetrics } from './quota-metrics.ts'
import { createReorgMetrics, type ReorgMetrics } from './reorg-metrics.ts'
import { createSetAsideMetrics, type SetAsideMetrics } from './set-aside-metrics.ts'
import { createSwapMetrics, type SwapMetrics } from './swap-metrics.ts'
import { createWebhookMetrics, type WebhookMetrics } from './webhook-metrics.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/**
 * Timer behind the metrics `nodejs_eventloop_lag_*`, whose values include it. The default, 10 ms, takes 0.4 % of a core
 * in each process at rest; 100 ms takes 0.06 %.
 */
const LAG_PRECISION_MS = 500
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** A number for each combination of labels, read at each scrape. */
export type Reading = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type Metrics = ReorgMetrics &
  LaneMetrics &
  ConnectionMetrics &
  SetAsideMetrics &
  QuotaMetrics &
  OutcomeMetrics &
  SwapMetrics &
  WebhookMetrics & {
    readonly registry: Registry
    /** One answered request. `route` is the template, not the path, to keep the number of labels small. */
    readonly observeRequest: (request: { method: string; route: string; status: number; durationMs: number }) => void
    /** One batch of commits that became durable. */
    readonly observeAppend: (batch: { readonly commits: number; readonly durationMs: number }) => void
    /** One JSON-RPC call or batch. */
    readonly observeRpc: (call: { network: string; method: string; outcome: string; durationMs: number }) => void
    /** One finished job. */
    readonly observeJob: (job: { queue: string; outcome: string; durationMs: number }) => void
    /** Transactions signed in one batch of a lane. */
    readonly countSigned: (signed: { network: string; transactions: number }) => void
    /** One transaction that the signer did not sign, because the database is inconsistent or the key differs. */
    readonly countRefusedToSign: () => void
    /** One step of the export of a wallet's key. */
    readonly countExport: (step: 'requested' | 'exported' | 'refused') => void
    /** One checkpoint that was not signed, because the log contradicts what was signed before. */
    readonly countAuditRefusal: () => void
    /** One piece of content to be pinned by the IPFS node. */
    readonly observePin: (pin: { outcome: string; durationMs: number }) => void
    readonly mpc: MpcMetrics
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
  pins: 'Duration of pin requests to the IPFS node in seconds.',
  batches: 'Commits per append to the event log.',
  signed: 'Signed transactions.',
  refused: 'Transactions that the signer refused, because they do not match the event log or the key of the wallet.',
  exports: 'Exports of wallet keys, by step.',
  refusals: 'Checkpoints that the auditor refused to sign, because the event log contradicts an earlier checkpoint.',
  failures: 'Gauge reads that failed, by gauge.',
}

/** @param processName `api`, `signer`, …: a label on every metric of this process */
export function createMetrics(processName: string): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels({ process: processName })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  const registers = [registry]
  const timer = (name: string, help: string, labelNames: readonly string[]) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers })

  const requests = timer('bursar_http_request_duration_seconds', HELP.requests, ['method', 'route', 'status'])
  const appends = timer('bursar_append_duration_seconds', HELP.appends, [])
  const calls = timer('bursar_rpc_duration_seconds', HELP.calls, ['network', 'method', 'outcome'])
  const jobs = timer('bursar_job_duration_seconds', HELP.jobs, ['queue', 'outcome'])
  const pins = timer('bursar_ipfs_pin_duration_seconds', HELP.pins, ['outcome'])
  const batches = new Histogram({
    name: 'bursar_append_batch_commits',
    help: HELP.batches,
    buckets: BATCH_SIZES,
    registers,
  })
  const signed = new Counter({ name: 'bursar_signed_total', help: HELP.signed, labelNames: ['network'], registers })
  const exported = { name: 'bursar_wallet_exports_total', help: HELP.exports, labelNames: ['step'] }
  const exports = new Counter({ ...exported, registers })
  const refusals = new Counter({ name: 'bursar_audit_refusals_total', help: HELP.refusals, registers })
  const refused = new Counter({ name: 'bursar_signer_refused_total', help: HELP.refused, registers })
  const unread = { name: 'bursar_gauge_failures_total', help: HELP.failures, labelNames: ['gauge'] }
  const failures = new Counter({ ...unread, registers })

  const parts = { ...createReorgMetrics(registry), ...createLaneMetrics(registry), ...createQuotaMetrics(registry) }
  return {
    registry,
    observeRequest: ({ method, route, status, durationMs }) =>
      requests.observe({ method, route, status }, durationMs / 1_000),
    observeAppend({ commits, durationMs }) {
      batches.observe(commits)
      appends.observe(durationMs / 1_000)
    },
    observeRpc: ({ durationMs, ...labels }) => calls.observe(labels, durationMs / 1_000),
    observeJob: ({ durationMs, ...labels }) => jobs.observe(labels, durationMs / 1_000),
    countRefusedToSign: () => refused.inc(),
    countSigned: ({ network, transactions }) => signed.inc({ network }, transactions),
    ...parts,
    ...createConnectionMetrics(registry),
    ...createSetAsideMetrics(registry),
    ...createSwapMetrics(registry),
    ...createWebhookMetrics(registry),
    ...createOutcomeMetrics(registry),
    mpc: createMpcMetrics(registry),
    countExport: (step) => exports.inc({ step }),
    countAuditRefusal: () => refusals.inc(),
    observePin: ({ outcome, durationMs }) => pins.observe({ outcome }, durationMs / 1_000),
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
