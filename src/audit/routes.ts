/** The HTTP routes of the audit: the events of the tenant, the newest checkpoint, and the proof of an event. */
import type { Context } from '../context.ts'
import { NotFound, PermissionDenied } from '../core/errors.ts'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { createCheckpointRows } from './checkpoints/checkpoint-rows.ts'
import { readEvents } from './event-page.ts'
import { findEvent } from './find-event.ts'
import { proveEvent } from './proof/prove-event.ts'
import { missingScope, type Reader } from './readers.ts'
import { checkpointSchema, eventPageSchema, eventsQuery, proofParams, proofSchema } from './schemas.ts'

const tags = ['Audit']
const config = { scope: 'audit:read' } as const

const events = {
  tags,
  operationId: 'listAuditEvents',
  summary: 'List your events',
  description:
    'Lists every event of your tenant in the environment of the API key, in the order of the log, oldest first. Events of other ' +
    'tenants and of the other environment are never included. `data` is null if the API key does not have the scope that ' +
    '`needs_scope` names. Pass `next_after` as `after` to continue. No event of yours is skipped.',
  querystring: eventsQuery,
  response: { 200: successOf(eventPageSchema, 'A page of events.') },
}

const checkpoint = {
  tags,
  operationId: 'getAuditCheckpoint',
  summary: 'Get the newest checkpoint',
  description:
    'Returns the newest signed head of the Merkle tree over the whole log. Keep the notes: with two of them anybody can verify that ' +
    'the later log continues the earlier one.',
  response: { 200: successOf(checkpointSchema, 'The checkpoint.') },
}

const proof = {
  tags,
  operationId: 'getAuditProof',
  summary: 'Get the proof of an event',
  description:
    'Returns the proof that one of your events is in the log that the newest checkpoint signs. The proof contains the whole event, so ' +
    'the API key needs the scope that guards its data. `data`, formatted with an indentation of two spaces and a final line feed ' +
    '(`jq .data`), is the file that `audit check` verifies offline.',
  params: proofParams,
  response: { 200: successOf(proofSchema, 'The proof.') },
}

export function auditRoutes({ pool, catalogue }: Pick<Context, 'pool' | 'catalogue'>): Routes {
  const checkpoints = createCheckpointRows(pool)

  /** Checked before the proof is created. */
  async function requireReadable(reader: Reader, eventId: string): Promise<void> {
    const found = await findEvent(pool, reader, eventId)
    if (found === undefined) throw new NotFound('event')
    const scope = missingScope(catalogue.streams, reader, found)
    if (scope === null) return
    const message = `The proof contains the data of the event, which requires the scope ${scope}: use an API key that has it.`
    throw new PermissionDenied('insufficient_scope', message)
  }

  return (app) => {
    app.get('/v1/audit/events', { schema: events, config }, async (request) =>
      success(await readEvents({ pool, catalogue }, request.caller, request.query)),
    )

    app.get('/v1/audit/checkpoint', { schema: checkpoint, config }, async () => {
      const newest = await checkpoints.newest()
      if (newest === null)
        throw new NotFound('checkpoint', 'checkpoint_not_found', 'No checkpoint has been signed yet: try again later.')
      const { size, root, note, takenAt } = newest
      return success({
        origin: note.slice(0, note.indexOf('\n')),
        size,
        root: root.toString('base64'),
        note,
        taken_at: takenAt.toISOString(),
      })
    })

    app.get(
      '/v1/audit/proof/:event_id',
      { schema: proof, config: { ...config, refusals: { 409: 'No checkpoint covers the event yet.' } } },
      async ({ caller, params: { event_id } }) => {
        await requireReadable(caller, event_id)
        return success(await proveEvent(pool, event_id, caller.tenantId))
      },
    )
  }
}
