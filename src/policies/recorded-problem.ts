/** What is wrong with how a request was judged by the policy of the log: for whoever signs it. */
import type { Opened } from '../event-log/load-checked.ts'
import type { CheckRequests, RecordedRequest } from './check-requests.ts'

/** `null` if it is as the policy says. @throws Unavailable */
export async function problemOf(check: CheckRequests, request: RecordedRequest): Promise<string | null> {
  return (await check([request])).get(request.id) ?? null
}

/** A request as the log has it, but for what it reserves and how it is judged. */
export function recordedRequest(
  { id, position, actor, newestOfPolicy }: Opened & Pick<RecordedRequest, 'id' | 'newestOfPolicy'>,
  {
    tenantId,
    environment,
    walletId,
    requestedAt,
    policy,
  }: Omit<RecordedRequest, 'id' | 'position' | 'newestOfPolicy' | 'actor' | 'reservations' | 'judge'>,
): Omit<RecordedRequest, 'reservations' | 'judge'> {
  return { id, position, newestOfPolicy, actor, tenantId, environment, walletId, requestedAt, policy }
}
