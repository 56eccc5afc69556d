/** Counts items that were set aside so that others could continue. */
import { Counter, type Registry } from 'prom-client'

export type SetAsideMetrics = {
  /** One change that the database cannot store: left out of a commit. */
  readonly countSetAside: () => void
  /** One transaction that no node could simulate: it waits, and is tried again. */
  readonly countNotSimulated: (network: string) => void
}

export function createSetAsideMetrics(registry: Registry): SetAsideMetrics {
  const registers = [registry]
  const changes = new Counter({
    name: 'bursar_set_aside_total',
    help: 'Changes left out of a commit because the database cannot store them.',
    registers,
  })
  const notSimulated = new Counter({
    name: 'bursar_not_simulated_total',
    help: 'Failed simulations of a transaction where the error says nothing about the transaction. They are retried.',
    labelNames: ['network'],
    registers,
  })
  return {
    countSetAside: () => changes.inc(),
    countNotSimulated: (network) => notSimulated.inc({ network }),
  }
}
