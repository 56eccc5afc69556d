/** The counters of a process, as data: each entry is a metric, and a function of `Metrics` that counts. */
import { Counter, type Registry } from 'prom-client'
import type { Quota } from '../core/quotas.ts'

/** `invalid`: unknown, expired or revoked. `limit`: what it may spend, or its requests a day. */
export type KeyRefusal = 'missing' | 'invalid' | 'address' | 'scope' | 'limit'

type PolicyRefusal = { readonly rule: string | null; readonly reason: string; readonly shadow: boolean }

/** Rules that have a series of their own, the first of all tenants: tenants name their rules. */
const MAX_RULES = 200

type Declared<Count> = {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly count: (counter: Counter) => Count
}

const plain = (name: string, help: string): Declared<() => void> => ({
  name,
  help,
  labels: [],
  count: (counter) => () => counter.inc(),
})

const byOne = <Value extends string>(label: string, name: string, help: string): Declared<(value: Value) => void> => ({
  name,
  help,
  labels: [label],
  count: (counter) => (value) => counter.inc({ [label]: value }),
})

const byAll = <Values extends Readonly<Record<string, string>>>(
  labels: readonly (keyof Values & string)[],
  name: string,
  help: string,
): Declared<(values: Values) => void> => ({ name, help, labels, count: (counter) => (values) => counter.inc(values) })

const OF_REQUESTS = {
  /** One connection closed on arrival: there were too many in total, or from its address. */
  countDroppedConnection: byOne<'total' | 'address'>(
    'limit',
    'bursar_http_connections_dropped_total',
    'Connections closed on arrival, by the limit that they exceeded.',
  ),
  /** One request refused because its tenant reached a quota. */
  countQuotaRefusal: byOne<Quota>(
    'quota',
    'bursar_quota_refusals_total',
    'Requests refused because the tenant reached a quota, by quota.',
  ),
  /** One request refused because of its API key. */
  countKeyRefusal: byOne<KeyRefusal>(
    'reason',
    'bursar_api_key_refusals_total',
    'Requests refused because of their API key: `missing`, `invalid` (unknown, expired or revoked), `address`, `scope` or `limit`.',
  ),
  /** One request refused by a rule of a policy, or by its default: `rule` is `null`; with `shadow` it would have been. */
  countPolicyRefusal: {
    name: 'bursar_policy_refusals_total',
    help: 'Requests refused by a policy, by rule (`default` for none, `others` beyond the first 200 names), reason and effect: `refused`, or `reported` by a shadow.',
    labels: ['rule', 'reason', 'effect'],
    count(counter: Counter) {
      const rules = new Set<string>()
      const labelOf = (rule: string | null) => {
        if (rule === null) return 'default'
        if (rules.size < MAX_RULES) rules.add(rule)
        return rules.has(rule) ? rule : 'others'
      }
      return ({ rule, reason, shadow }: PolicyRefusal): void =>
        counter.inc({ rule: labelOf(rule), reason, effect: shadow ? 'reported' : 'refused' })
    },
  },
  /** One request judged again: another version was in force by its append, or its wallet had other tags. */
  countRejudged: plain(
    'bursar_policy_rejudged_total',
    'Requests judged again, because another version of the policy or other tags of the wallet were in force when they were recorded.',
  ),
  /** So many requests that are not signed, because they are not as the policy of the log says. */
  countPolicyMismatches: {
    name: 'bursar_policy_mismatches_total',
    help: 'Checks by a signer or a party that found a recorded request not to be as the policy of the log says. It is checked again as long as it waits.',
    labels: [],
    count: (counter: Counter) => (requests: number) => counter.inc(requests),
  },
  /** One request of a swap or a contract call. @param request `outcome` is `accepted`, `repeated`, or the code of the error */
  countRequested: byAll<{ readonly kind: 'swap' | 'contract_call'; readonly outcome: string }>(
    ['kind', 'outcome'],
    'bursar_call_requests_total',
    'Requests that send a swap or a contract call, by outcome: `accepted`, `repeated`, or the code of the error.',
  ),
  /** One step of the export of a wallet's key. */
  countExport: byOne<'requested' | 'exported' | 'refused'>(
    'step',
    'bursar_wallet_exports_total',
    'Exports of wallet keys, by step.',
  ),
  /** One quote of a swap, or its refusal. @param outcome `quoted`, or the code of the error */
  countSwapQuote: byOne<string>(
    'outcome',
    'bursar_swap_quotes_total',
    'Quotes of swaps, by outcome: `quoted`, or the code of the error.',
  ),
  /** The exchange whose route a quote has. */
  countSwapRoute: byAll<{ readonly network: string; readonly venue: string }>(
    ['network', 'venue'],
    'bursar_swap_routes_total',
    'Quotes of swaps, by the exchange that gave the best route: `wrap` and `unwrap` need none.',
  ),
  /** One answer of a hosted source. @param answer `outcome` is `chosen`, or why it was not taken */
  countSourceAnswer: byAll<{ readonly source: string; readonly outcome: string }>(
    ['source', 'outcome'],
    'bursar_swap_source_answers_total',
    'Answers of hosted sources of quotes, by outcome: `chosen`, or why it was not taken.',
  ),
}

const OF_LANES = {
  /** Transactions signed in one batch of a lane. */
  countSigned: {
    name: 'bursar_signed_total',
    help: 'Signed transactions.',
    labels: ['network'],
    count:
      (counter: Counter) =>
      ({ network, transactions }: { readonly network: string; readonly transactions: number }) =>
        counter.inc({ network }, transactions),
  },
  /** One transaction that the signer did not sign, because the database is inconsistent or the key differs. */
  countRefusedToSign: plain(
    'bursar_signer_refused_total',
    'Transactions that the signer refused, because they do not match the event log or the key of the wallet.',
  ),
  /** One transaction that no node could simulate: it waits, and is tried again. */
  countNotSimulated: byOne<string>(
    'network',
    'bursar_not_simulated_total',
    'Failed simulations of a transaction where the error says nothing about the transaction. They are retried.',
  ),
  /** One check of a lane that must not sign because nodes show transactions that the log does not have. */
  countHeldLane: byOne<string>(
    'network',
    'bursar_lane_held_total',
    'Checks that found a lane held, because the chain has transactions that the event log does not have.',
  ),
  /** One signed transaction that was missing in the log and found on chain. */
  countRecovered: byOne<string>(
    'network',
    'bursar_recovered_total',
    'Signed transactions that were missing in the event log and were found on chain.',
  ),
}

const OF_THE_LOG = {
  /** One change that the database cannot store: left out of a commit. */
  countSetAside: plain(
    'bursar_set_aside_total',
    'Changes left out of a commit because the database cannot store them.',
  ),
  /** One stream with an event that cannot be read: nothing is added to it. */
  countHeldStream: plain(
    'bursar_held_streams_total',
    'Streams that this process found with an event that cannot be read.',
  ),
  /** One transaction that ended. @param ended `outcome` is `confirmed`, `cancelled`, or the code of the failure */
  countEnded: byAll<{ readonly network: string; readonly type: string; readonly outcome: string }>(
    ['network', 'type', 'outcome'],
    'bursar_transactions_ended_total',
    'Transactions whose end this process recorded, by outcome: `confirmed`, `cancelled`, or the code of the failure.',
  ),
  /** One event of an observed transfer. @param observed `status` is `detected`, `confirmed` or `orphaned` */
  countObserved: byAll<{ readonly network: string; readonly direction: string; readonly status: string }>(
    ['network', 'direction', 'status'],
    'bursar_observed_transfers_total',
    'Transfers to and from wallets that the follower recorded: `detected` in a block, `confirmed`, or `orphaned` by a reorg.',
  ),
  /** One reorg of a followed chain. */
  countReorg: {
    name: 'bursar_reorgs_total',
    help: 'Reorgs of followed chains, and whether they were deeper than the recorded block hashes.',
    labels: ['network', 'beyond_window'],
    count:
      (counter: Counter) =>
      ({ network, beyondWindow }: { readonly network: string; readonly beyondWindow: boolean }) =>
        counter.inc({ network, beyond_window: String(beyondWindow) }),
  },
  /** A transaction whose reported outcome no longer holds. */
  countRevoked: byAll<{ readonly network: string; readonly outcome: string }>(
    ['network', 'outcome'],
    'bursar_outcomes_revoked_total',
    'Transactions whose reported outcome was revoked by a reorg.',
  ),
  /** A delivery to a webhook whose last attempt failed. */
  countGivenUp: plain('bursar_webhook_given_up_total', 'Deliveries that were given up after their last attempt.'),
  /** One checkpoint that was not signed, because the log contradicts what was signed before. */
  countAuditRefusal: plain(
    'bursar_audit_refusals_total',
    'Checkpoints that the auditor refused to sign, because the event log contradicts an earlier checkpoint.',
  ),
}

const COUNTERS = { ...OF_REQUESTS, ...OF_LANES, ...OF_THE_LOG }

export type Counters = { readonly [Name in keyof typeof COUNTERS]: ReturnType<(typeof COUNTERS)[Name]['count']> }

/** Adds every counter to a registry. One without labels is shown from the start, as 0. */
export function createCounters(registry: Registry): Counters {
  const entries = Object.entries(COUNTERS).map(([key, { name, help, labels, count }]) => [
    key,
    count(new Counter({ name, help, labelNames: labels, registers: [registry] })),
  ])
  return Object.fromEntries(entries) as Counters
}
