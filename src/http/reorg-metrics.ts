/** Metrics of reorgs seen by a chain follower. */
import { Counter, type Registry } from 'prom-client'

export type ReorgMetrics = {
  /** One reorg of a followed chain. */
  readonly countReorg: (reorg: { network: string; beyondWindow: boolean }) => void
  /** A transaction whose reported outcome no longer holds. */
  readonly countRevoked: (revoked: { network: string; outcome: string }) => void
}

export function createReorgMetrics(registry: Registry): ReorgMetrics {
  const registers = [registry]
  const reorgs = new Counter({
    name: 'bursar_reorgs_total',
    help: 'Reorgs of followed chains, and whether they were deeper than the recorded block hashes.',
    labelNames: ['network', 'beyond_window'],
    registers,
  })
  const revoked = new Counter({
    name: 'bursar_outcomes_revoked_total',
    help: 'Transactions whose reported outcome was revoked by a reorg.',
    labelNames: ['network', 'outcome'],
    registers,
  })
  return {
    countReorg: ({ network, beyondWindow }) => reorgs.inc({ network, beyond_window: String(beyondWindow) }),
    countRevoked: (labels) => revoked.inc(labels),
  }
}
