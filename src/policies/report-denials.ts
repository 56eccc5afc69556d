/**
 * Judges again what another version of a policy judges by then, and reports what policies refuse and what shadows would refuse: the answer
 * of a request neither waits for its report nor fails with it.
 */

import type { Context } from '../context.ts'
import { Conflict, PolicyRefused } from '../core/errors.ts'
import { apiKeyOf, type Metadata } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accept, AppendPrepared } from '../event-log/accept.ts'
import { PolicyChanged } from '../event-log/append.ts'
import { createDenialTally, type Denial } from './denial-tally.ts'
import type { Judge, ShadowVerdict } from './judge.ts'

export type DenialReports = {
  /** `accept`, which decides again when another version is in force by then, and whose refusals by a policy are recorded. */
  readonly deciding: (accept: Accept) => Accept
  /** Resolves when what was refused until now is recorded, or could not be. */
  readonly close: () => Promise<void>
}

/** Rules that have a series of their own, the first of all tenants: tenants name their rules. */
const MAX_RULES = 200

/** Counts each refusal, and what a shadow would have refused. */
export function createCountRefusal({ count }: Pick<Context['metrics'], 'count'>): (denial: Denial) => void {
  const rules = new Set<string>()
  const labelOf = (rule: string | null) => {
    if (rule === null) return 'default'
    if (rules.size < MAX_RULES) rules.add(rule)
    return rules.has(rule) ? rule : 'others'
  }
  return ({ rule, reason, shadow }) =>
    count('bursar_policy_refusals_total', { rule: labelOf(rule), reason, effect: shadow ? 'reported' : 'refused' })
}

/** The first rule of a shadow whose limit had no room, now that the request counts. */
type FullRuleOf = (verdict: ShadowVerdict) => Promise<string | null>

export function createDenialReports({
  shadowed,
  forget,
  fullRuleOf,
  onRefusal,
  ...ports
}: Parameters<typeof createDenialTally>[0] & {
  readonly shadowed: Judge['shadowed']
  /** Makes this process read again what is in force. */
  readonly forget: (owner: Owner) => void
  readonly fullRuleOf: FullRuleOf
  /** Called for each refusal. */
  readonly onRefusal: (denial: Denial, metadata: Metadata) => void
}): DenialReports {
  const tally = createDenialTally(ports)
  const underWay = new Set<Promise<void>>()

  function note(denial: Denial, metadata: Metadata): void {
    onRefusal(denial, metadata)
    tally.note(denial, metadata)
  }

  function reportShadows(metadata: Metadata): void {
    for (const verdict of shadowed(metadata)) {
      const reported = shadowDenial(verdict, fullRuleOf)
        .then((denial) => denial !== null && note(denial, metadata))
        .catch(ports.onError)
        .then(() => void underWay.delete(reported))
      underWay.add(reported)
    }
  }

  const forgetting =
    (append: AppendPrepared): AppendPrepared =>
    (prepared) =>
      append(prepared).catch((error: unknown) => {
        if (error instanceof PolicyChanged) forget(error.owner)
        throw error
      })

  return {
    deciding: (accept) => async (metadata, attempt, options) => {
      try {
        const accepted = await accept(
          metadata,
          (append, unchanged) => {
            // Those of an attempt before.
            shadowed(metadata)
            return attempt(forgetting(append), unchanged)
          },
          options,
        )
        if (!accepted.replayed) reportShadows(metadata)
        return accepted
      } catch (error) {
        if (error instanceof PolicyRefused) note(denialOf(error, metadata), metadata)
        throw error instanceof PolicyChanged ? stillChanging() : error
      }
    },
    async close() {
      await Promise.all(underWay)
      await tally.close()
    },
  }
}

function denialOf({ about, details }: PolicyRefused, { actor }: Metadata): Denial {
  const { rule, version, reason = 'over_limit' } = details as { rule: string | null; version: number; reason?: string }
  return { ...about, version, shadow: false, rule, reason, apiKey: apiKeyOf(actor) }
}

/** `null` for what the shadow would allow. */
async function shadowDenial(verdict: ShadowVerdict, fullRuleOf: FullRuleOf): Promise<Denial | null> {
  const { request, decision, version } = verdict
  const { environment, apiKey, walletId } = request
  const about = { environment, version, shadow: true, apiKey, walletId }
  const { outcome, refusal, approvals } = decision
  if (refusal !== null) return { ...about, rule: refusal.rule, reason: refusal.reason }
  if (outcome === 'needs_approval') return { ...about, rule: approvals[0]?.rules[0] ?? null, reason: 'needs_approval' }
  const rule = decision.reservations.length === 0 ? null : await fullRuleOf(verdict)
  return rule === null ? null : { ...about, rule, reason: 'over_limit' }
}

function stillChanging(): Conflict {
  return new Conflict('policy_changed', 'The policy was published again and again while this was decided: try again.')
}
