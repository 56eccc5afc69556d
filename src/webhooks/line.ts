/** The two lines of a webhook: its events as they happen, and its replays. Neither waits for the other. */

/** Its name is the id of the webhook, with `-replays` for the second one: of jobs and leases too. */
export type Line = { readonly webhookId: string; readonly isReplay: boolean }

const REPLAYS = '-replays'

/** The name of the line of replays. The other one has the id of the webhook. */
export function replaysOf(webhookId: string): string {
  return `${webhookId}${REPLAYS}`
}

export function parseLine(name: string): Line {
  const isReplay = name.endsWith(REPLAYS)
  return { webhookId: isReplay ? name.slice(0, -REPLAYS.length) : name, isReplay }
}

/** Whoever holds this lease sends the deliveries of the line. */
export function leaseOfLine(name: string): string {
  return `webhook-${name}`
}
