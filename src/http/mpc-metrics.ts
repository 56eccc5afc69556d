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
  const bans = counter(
    'bursar_mpc_bans_total',
    'Bans of parties from signing with a key, counted once per key and epoch.',
    ['party'],
  )
  const accusations = counter(
    'bursar_mpc_accusations_total',
    'Reports by one party that another party failed a check, counted once per key, epoch and pair of parties.',
    ['party', 'accused_by'],
  )
  const refusals = counter(
    'bursar_mpc_refusals_total',
    'Signatures that a party did not make, by party and kind of reason.',
    ['party', 'kind'],
  )
  const messages = counter(
    'bursar_mpc_refused_messages_total',
    'Messages from peers that this party rejected, by reason.',
    ['reason'],
  )
  const sessions = new Histogram({
    name: 'bursar_mpc_session_duration_seconds',
    help: 'Duration of ceremonies at this party in seconds. A signing ceremony makes up to 8 signatures.',
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
