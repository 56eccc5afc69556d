/** Metrics of joint keys: bans, refusals, ceremonies. */
import { Counter, Histogram, type Registry } from 'prom-client'

export type MpcMetrics = {
  /** One party banned from signing with a key. */
  readonly countBan: (ban: { readonly party: number }) => void
  /** One party that accused another of failing a check. */
  readonly countAccusation: (accusation: { readonly party: number; readonly accusedBy: number }) => void
  /** One signature that a party refused, by reason. */
  readonly countRefusal: (refusal: { readonly party: number; readonly kind: string }) => void
  /** One ceremony in which this party took part. */
  readonly observeSession: (session: {
    readonly ceremony: string
    readonly outcome: string
    readonly durationMs: number
  }) => void
  /** One message that this party rejected. */
  readonly countRefusedMessage: (refused: { readonly reason: string }) => void
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export function createMpcMetrics(registry: Registry): MpcMetrics {
  const registers = [registry]
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames, registers })
  const bans = counter('bursar_mpc_bans_total', 'Parties banned from signing with a key, one for each key and epoch.', [
    'party',
  ])
  const accusations = counter(
    'bursar_mpc_accusations_total',
    'Parties that another accused of a failed check, one for each key, epoch and pair.',
    ['party', 'accused_by'],
  )
  const refusals = counter('bursar_mpc_refusals_total', 'Signatures that a party did not help with.', ['party', 'kind'])
  const messages = counter('bursar_mpc_refused_messages_total', 'Messages that this party did not believe.', ['reason'])
  const sessions = new Histogram({
    name: 'bursar_mpc_session_duration_seconds',
    help: 'Time of a ceremony at this party; one of signing makes up to eight signatures.',
    labelNames: ['ceremony', 'outcome'],
    buckets: SECONDS,
    registers,
  })
  return {
    countBan: ({ party }) => bans.inc({ party: String(party) }),
    countAccusation: ({ party, accusedBy }) => accusations.inc({ party: String(party), accused_by: String(accusedBy) }),
    countRefusal: ({ party, kind }) => refusals.inc({ party: String(party), kind }),
    observeSession: ({ durationMs, ...labels }) => sessions.observe(labels, durationMs / 1_000),
    countRefusedMessage: ({ reason }) => messages.inc({ reason }),
  }
}
