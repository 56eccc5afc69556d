/** The result of a simulation as clients see it. Pure. */
import { formatAmount } from '../core/money.ts'
import { ANY, type Intent } from './intent.ts'
import type { SimulatedPart, SimulatedReservation } from './simulate.ts'

/** In the order in which they decide about the whole. */
const OUTCOMES = ['denied', 'limited', 'needs_approval', 'allowed'] as const

export function shownSimulation(version: number | null, parts: readonly SimulatedPart[]) {
  return {
    version,
    outcome: OUTCOMES.find((outcome) => parts.some((part) => part.outcome === outcome)) ?? 'allowed',
    parts: parts.map(shownPart),
  }
}

function shownPart(part: SimulatedPart) {
  const { outcome, refusal, refusedBy, request, rules, matched, reservations, approvals } = part
  const [item] = refusal?.items ?? []
  const details = item?.details as { readonly available_at?: string | null } | undefined
  return {
    outcome,
    refusal: refusal && {
      ...{ code: refusal.code, message: refusal.message, rules: [...refusedBy] },
      available_at: details?.available_at ?? null,
    },
    intents: request.intents.map(shownIntent),
    rules: rules.map(({ rule, effect, intents }) => ({
      ...{ rule, effect, matched: matched.includes(rule) },
      intents: intents.map(({ held, conditions }) => ({ held, conditions: conditions.map((one) => ({ ...one })) })),
    })),
    reservations: reservations.map(shownReservation),
    approvals: approvals.map(({ group, quorum, rules: by }) => ({ group, quorum, rules: [...by] })),
  }
}

function shownIntent({ actions, recipient, spender, contract, method, moves }: Intent) {
  const amount =
    moves === null || moves.amount === ANY || moves.decimals === null
      ? null
      : formatAmount(moves.amount, moves.decimals)
  return {
    ...{ actions: [...actions], recipient, spender, contract, method },
    moves: moves && { asset: moves.symbol, amount },
  }
}

function shownReservation({ reservation, per, left, isCounted }: SimulatedReservation) {
  const { rule, unit, decimals, amount, limit, windowSeconds } = reservation
  const written = (units: bigint) => formatAmount(units, decimals)
  return {
    ...{ rule, per, unit, amount: written(amount), limit: written(limit), left: written(left < 0n ? 0n : left) },
    ...{ window_seconds: windowSeconds, counted: isCounted },
  }
}
