/** Counts items that were set aside so that others could continue. */
import { Counter, type Registry } from 'prom-client'

export type SetAsideMetrics = {
  /** One change that the database cannot store: left out of a commit. */
  readonly countSetAside: () => void
  /** One transaction that no node could simulate: it waits, and is tried again. */
  readonly countNotSimulated: (network: string) => void
  /** One stream with an event that cannot be read: nothing is added to it. */
  readonly countHeldStream: () => void
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
  const heldStreams = new Counter({
    name: 'bursar_held_streams_total',
    help: 'Streams that this process found with an event that cannot be read.',
    registers,
  })
  return {
    countHeldStream: () => heldStreams.inc(),
    countSetAside: () => changes.inc(),
    countNotSimulated: (network) => notSimulated.inc({ network }),
  }
}
