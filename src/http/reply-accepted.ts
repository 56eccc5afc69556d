/**
 * Accepts a request and answers it: marks a replay, and follows `Prefer` where the route states what it waits for. Every route that
 * takes an `Idempotency-Key` answers by it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metadata } from '../core/messages.ts'
import { type Success, success } from './envelope.ts'
import { markReplayed } from './idempotency.ts'
import { applyPreference, preferenceOf } from './prefer.ts'
import { metadataOf } from './request-metadata.ts'

export type AcceptingRoute<Accepted extends { readonly replayed: boolean }, View> = {
  readonly accept: (metadata: Metadata) => Promise<Accepted>
  /**
   * Waits, and reads what the answer shows.
   *
   * @param waitMs milliseconds that the client prefers; `null` when it leaves the time to the route
   */
  readonly answer: (accepted: Accepted, waitMs: number | null) => Promise<Answer<View>>
}

/** 202 while the outcome is open. */
export type Answer<View> = { readonly code: 200 | 201 | 202; readonly view: View }

export async function replyAccepted<Accepted extends { readonly replayed: boolean }, View>(
  request: FastifyRequest,
  reply: FastifyReply,
  { accept, answer }: AcceptingRoute<Accepted, View>,
): Promise<Success<View>> {
  const accepted = await accept(metadataOf(request))
  if (accepted.replayed) markReplayed(reply)
  const preference = preferenceOf(request)
  if (request.routeOptions.config.waits !== undefined) applyPreference(reply, preference)
  const { code, view } = await answer(accepted, preference.waitMs)
  reply.code(code)
  return success(view)
}
