/** Counts the connections that the API closes on arrival. */
import { Counter, type Registry } from 'prom-client'

export type ConnectionMetrics = {
  /** One connection closed on arrival: there were too many in total, or from its address. */
  readonly countDroppedConnection: (limit: 'total' | 'address') => void
}

export function createConnectionMetrics(registry: Registry): ConnectionMetrics {
  const drops = new Counter({
    name: 'bursar_http_connections_dropped_total',
    help: 'Connections closed on arrival, by the limit that they exceeded.',
    labelNames: ['limit'],
    registers: [registry],
  })
  return { countDroppedConnection: (limit) => drops.inc({ limit }) }
}
