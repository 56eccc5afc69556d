/** The task that keeps metadata pinned, and the pin that it and requests use. Neither exists without an IPFS node. */
import type { RepeatedTask, TaskNeeds } from '../../capability.ts'
import { createKuboNode } from './kubo.ts'
import { createPin, type Pin } from './pin.ts'
import { countPendingPins } from './pin-rows.ts'
import { createRepin } from './repin.ts'

export function pinOf({ config, metrics }: Pick<TaskNeeds, 'config' | 'metrics'>): Pin | null {
  return config.ipfs === null ? null : createPin(createKuboNode(config.ipfs), metrics.observePin)
}

export const repinTask: RepeatedTask = {
  name: 'pins',
  intervalMs: ({ sweepIntervalMs }) => sweepIntervalMs,
  failure: 'cannot pin metadata on the IPFS node; will retry',
  build({ pool, clock, config, metrics }) {
    const pin = pinOf({ config, metrics })
    if (pin === null) return null
    const help = 'Metadata files that the IPFS node has not confirmed.'
    metrics.addGauge('bursar_ipfs_pins_pending', help, [], async () => [
      { labels: {}, value: await countPendingPins(pool) },
    ])
    return createRepin({ pool, clock, pin })
  },
}
