/** How many jobs may be in a queue at once: what bounds how long a tenant waits for the work of another. */
import type { QueueName } from './queues.ts'

export type QueueLimits = {
  /**
   * Jobs that wait for a worker, of all tenants together. Whoever comes next waits for no more than these, so it is small; and
   * it is more than the workers finish until the queue is looked at again, so that they never run dry.
   */
  readonly window: number
  /** Jobs of one tenant that wait for a worker or have one; `null` where a job takes milliseconds and the window is bound enough. */
  readonly atOnce: number | null
  /** Jobs of one tenant that wait for their next try. So many failing ones stop only what would fail too, most often. */
  readonly failing: number
  /** While jobs wait for their turn, the queue is looked at this often, in ms: workers finish a window in no less. */
  readonly lookMs: number
}

const LANES: QueueLimits = { window: 64, atOnce: null, failing: 256, lookMs: 20 }
const QUICK: QueueLimits = { window: 32, atOnce: null, failing: 256, lookMs: 20 }
/** Signatures of parties take 50 ms and more. A tenant alone gets as many at once as all tenants together got before. */
const JOINT: QueueLimits = { window: 32, atOnce: 8, failing: 64, lookMs: 50 }

export const QUEUE_LIMITS: Readonly<Record<QueueName, QueueLimits>> = {
  lane: LANES,
  submit: LANES,
  observe: LANES,
  wallet: QUICK,
  voucher: QUICK,
  signature: QUICK,
  export: QUICK,
  'mpc-lane': JOINT,
  'mpc-voucher': JOINT,
  'mpc-signature': JOINT,
  // Making a key or new shares takes the processor of every party for seconds: more at once only makes each of them slower.
  'mpc-wallet': { ...JOINT, atOnce: 3 },
  shares: { ...JOINT, atOnce: 2 },
}
