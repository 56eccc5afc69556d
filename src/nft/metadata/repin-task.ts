/** The task that keeps metadata pinned. It does not exist without an IPFS node. */
import type { RepeatedTask } from '../../capability.ts'
import { pinOn } from './pin.ts'
import { countPendingPins } from './pin-rows.ts'
import { repin } from './repin.ts'

export const repinTask: RepeatedTask = {
  name: 'pins',
  intervalMs: ({ sweepIntervalMs }) => sweepIntervalMs,
  failure: 'cannot pin metadata on the IPFS node; will retry',
  build({ pool, clock, config, metrics }) {
    const pin = pinOn({ config, metrics })
    if (pin === null) return null
    const help = 'Metadata files that the IPFS node has not confirmed.'
    metrics.addGauge('bursar_ipfs_pins_pending', help, [], async () => [
      { labels: {}, value: await countPendingPins(pool) },
    ])
    return (signal) => repin({ pool, clock, pin }, signal)
  },
}
