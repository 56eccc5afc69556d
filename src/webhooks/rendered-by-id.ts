/** Renders public events from the log by their ids. */
import type { Context } from '../context.ts'
import { type PublicEventName, parsePublicEventId } from '../core/event-ids.ts'
import { readLogged } from '../event-log/read-logged.ts'
import type { RenderEvents } from './fan-out.ts'

/** @returns the events in any order, without those that the log does not have */
export async function readRendered(
  { pool, render }: Pick<Context, 'pool'> & { readonly render: RenderEvents },
  eventIds: readonly string[],
): Promise<Awaited<ReturnType<RenderEvents>>[number]> {
  const wanted = new Map<string, PublicEventName[]>()
  for (const name of eventIds.flatMap((id) => parsePublicEventId(id) ?? []))
    wanted.set(keyOf(name), [...(wanted.get(keyOf(name)) ?? []), name])
  const names = [...wanted.values()].flatMap(([name]) => name ?? [])
  const rendered = await render(await readLogged(pool, names), (publisher, logged) => {
    const last = publisher.firstIndex + (publisher.events[logged.type]?.length ?? 0) - 1
    return (wanted.get(keyOf(logged)) ?? []).some(({ index }) => index >= publisher.firstIndex && index <= last)
  })
  const ids = new Set(eventIds)
  return rendered.flat().filter(({ event }) => ids.has(event.id))
}

function keyOf({ streamId, streamVersion }: Pick<PublicEventName, 'streamId' | 'streamVersion'>): string {
  return `${streamId} ${streamVersion}`
}
