/** How many jobs may be in a queue at once; this bounds how long a tenant waits for the work of others. */
import type { QueueName } from './queues.ts'

export type QueueLimits = {
  /**
   * Waiting jobs of all tenants together. A new job waits for at most these, so it is small; but it is more than the
   * workers finish until the next look at the queue, so they never idle.
   */
  readonly window: number
  /**
   * Jobs of one tenant that wait for a worker or are running; `null` when a job takes milliseconds and the window is
   * limit enough.
   */
  readonly atOnce: number | null
  /**
   * Jobs of one tenant that wait for their next try. This many failures usually delay only jobs that would fail too.
   */
  readonly failing: number
  /**
   * Interval, in ms, at which the queue is read while jobs wait for their turn: workers need at least this long for a
   * window.
   */
  readonly lookMs: number
}

const LANES: QueueLimits = { window: 64, atOnce: null, failing: 256, lookMs: 20 }
const QUICK: QueueLimits = { window: 32, atOnce: null, failing: 256, lookMs: 20 }
/** Signatures of mpc parties take 50 ms and more. `atOnce` of one tenant is what all tenants together had before. */
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
  // Creating a key or refreshing shares takes every party's CPU for seconds: more at once only slows each of them down.
  'mpc-wallet': { ...JOINT, atOnce: 3 },
  shares: { ...JOINT, atOnce: 2 },
}
