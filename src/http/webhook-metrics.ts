/** Metrics of a webhook sender. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

export type WebhookMetrics = {
  /** One request to a receiver. */
  readonly observeDelivery: (attempt: { outcome: string; durationMs: number }) => void
  /** The log was read to an event of this age. */
  readonly observeFanOut: (read: { lagMs: number }) => void
  /** A delivery whose last attempt failed. */
  readonly countGivenUp: () => void
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry]
  const attempts = new Histogram({
    name: 'bursar_webhook_attempt_duration_seconds',
    help: 'Duration of attempts to deliver an event to a webhook in seconds, by outcome.',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  })
  const givenUp = new Counter({
    name: 'bursar_webhook_given_up_total',
    help: 'Deliveries that were given up after their last attempt.',
    registers,
  })
  const lag = new Gauge({
    name: 'bursar_webhook_fan_out_lag_seconds',
    help: 'Time from the record of the newest event that was read for webhooks to its read. Only the leading sender sets it.',
    registers,
  })
  return {
    observeFanOut: ({ lagMs }) => lag.set(Math.max(0, lagMs) / 1_000),
    observeDelivery: ({ outcome, durationMs }) => attempts.observe({ outcome }, durationMs / 1_000),
    countGivenUp: () => givenUp.inc(),
  }
}
