/** Waits until the service is ready, with every network. */
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 50
/** A machine under load may take long; after this time the failing checks are reported. */
const TIMEOUT_MS = 120_000

/** @throws Error with the last response of `/readyz` */
export async function untilReady(baseUrl: string): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS
  let last = 'no connection'
  while (Date.now() < deadline) {
    try {
      const response = await fetch(`${baseUrl}/readyz`)
      last = await response.text()
      if (response.ok && !last.includes('"ok":false')) return
    } catch (error) {
      last = error instanceof Error ? error.message : String(error)
    }
    await sleep(LOOK_MS)
  }
  throw new Error(`the service did not become ready: ${last}`)
}
