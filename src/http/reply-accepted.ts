/**
 * Accepts a request and responds: marks a replay, and applies `Prefer` if the route waits for something. Every route
 * with an `Idempotency-Key` uses it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metadata } from '../core/messages.ts'
import { type Success, success } from './envelope.ts'
import { markReplayed } from './idempotency.ts'
import { applyPreference, preferenceOf } from './prefer.ts'
import { overOf } from './request-end.ts'
import { metadataOf } from './request-metadata.ts'

export type AcceptingRoute<Accepted extends { readonly replayed: boolean }, View> = {
  readonly accept: (metadata: Metadata) => Promise<Accepted>
  /**
   * Waits, and loads the content of the response.
   *
   * @param waitMs milliseconds that the client prefers; `null` for the route's default
   * @param over aborts when the client has gone
   */
  readonly answer: (accepted: Accepted, waitMs: number | null, over: AbortSignal) => Promise<Answer<View>>
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
  const { code, view } = await answer(accepted, preference.waitMs, overOf(reply))
  reply.code(code)
  return success(view)
}
