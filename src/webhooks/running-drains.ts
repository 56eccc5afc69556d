/**
 * The webhooks that this process sends to right now. What is added for one of them needs no job: the drain that runs is
 * told, and goes on.
 */
import { pause } from '../event-log/lead.ts'

/** A drain that has sent everything waits this long for more. */
const LINGER_MS = 250
/** Minimum time between two rounds of a webhook: a round costs much the same for one event as for a hundred. */
const MIN_INTERVAL_MS = 100
/** Drains that wait take places that others may need: with more of them, none waits. */
const MOST_DRAINS = 32
/** Deliveries are added by this process if it was told of some within this time. */
const TOLD_MS = 10_000

export type RunningDrain = {
  /** Waits for more to send, if this process is where deliveries are added. @returns whether there is more */
  readonly more: (signal: AbortSignal) => Promise<boolean>
  /** From now on, what is added needs a job. Call before the lease is released. */
  readonly end: () => void
}

export type RunningDrains = {
  readonly begin: (webhookId: string) => RunningDrain
  /** Tells the drain of a webhook that there is more. @returns false where none runs in this process */
  readonly wake: (webhookId: string) => boolean
}

export function createRunningDrains(): RunningDrains {
  const running = new Map<string, () => void>()
  let toldAt = Number.NEGATIVE_INFINITY
  return {
    begin(webhookId) {
      let roundAt = performance.now()
      let isWoken = false
      let lingering: AbortController | null = null
      running.set(webhookId, () => {
        isWoken = true
        lingering?.abort()
      })
      return {
        async more(signal) {
          const mayLinger = running.size <= MOST_DRAINS && performance.now() - toldAt < TOLD_MS
          if (!isWoken && mayLinger) {
            lingering = new AbortController()
            signal.addEventListener('abort', lingering.abort.bind(lingering), { signal: lingering.signal })
            await pause(LINGER_MS, lingering.signal)
            // Ends the listener too.
            lingering.abort()
          }
          if (!isWoken) return false
          isWoken = false
          await pause(MIN_INTERVAL_MS - (performance.now() - roundAt), signal)
          roundAt = performance.now()
          return true
        },
        end: () => void running.delete(webhookId),
      }
    },
    wake(webhookId) {
      toldAt = performance.now()
      const wake = running.get(webhookId)
      wake?.()
      return wake !== undefined
    },
  }
}
