/** The cases of findings about webhooks: see operator-cases.ts. */
import type { Finding } from '../../src/operator/finding.ts'
import type { ServiceFacts } from '../../src/operator/stuck/service-facts.ts'
import type { ReplayNow, WebhookNow } from '../../src/webhooks/webhooks-now.ts'
import { SERVICE, stuck, told } from './operator-facts.ts'

const SENDING = {
  processes: [
    ...SERVICE.processes,
    { process: 'webhook-sender', instance: 'webhook-sender:7', silentMs: 1_000, problem: null },
  ],
  leaders: [...SERVICE.leaders, { name: 'webhooks', holder: 'x@h:7', expiresInMs: 5_000 }],
}

/** Sends what is due. */
const WEBHOOK: WebhookNow = {
  id: 'whk_1',
  tenantId: 'acme',
  environment: 'mainnet',
  url: 'https://example.com/hook',
  status: 'enabled',
  disabledReason: null,
  changedMs: 30 * 86_400_000,
  pending: 3,
  oldestMs: 60_000,
  dueMs: 60_000,
  failingMs: null,
  succeededMs: 100,
  refused: 0,
  gaps: 0,
  lastStatus: null,
  lastError: null,
}

/** Waits for its receiver. */
const REPLAY: ReplayNow = {
  id: 'rpl_1',
  webhookId: 'whk_1',
  state: 'waits_for_receiver',
  added: 20_000,
  requestedMs: 8 * 86_400_000,
  idleMs: 86_400_000,
}

type More = Partial<ServiceFacts> & { readonly lagMs?: number; readonly replay?: Partial<ReplayNow> }

/** Findings of a service with one webhook, and a replay to it. */
export function webhook(facts: Partial<WebhookNow>, { lagMs = 0, replay = {}, ...processes }: More = {}) {
  const replays = [{ ...REPLAY, ...replay }]
  const webhooks = { subscription: 'webhooks', lagMs, webhooks: [{ ...WEBHOOK, ...facts }], replays }
  return stuck({ service: { ...SERVICE, ...SENDING, ...processes }, told: [told(webhooks)] })
}

type Case = readonly [() => Finding[], string, RegExp, RegExp]

export const SENDER_MISSING: Case = [
  () => webhook({ succeededMs: null }, { processes: SERVICE.processes }),
  'webhook-sender',
  /never ran/,
  /--detach webhook-sender/,
]
export const SENDER_WITHOUT_LEADER: Case = [
  () => webhook({}, { leaders: SERVICE.leaders }),
  'webhooks',
  /no leader/,
  /logs --since 10m webhook-sender/,
]

export const WEBHOOK_CASES = {
  webhook_failing: [
    [
      () => webhook({ failingMs: 3_600_000, lastStatus: 500 }),
      'whk_1',
      /tenant acme, .*has failed for 1 h 0 min; the last attempt was answered with 500\. 3 events wait, .* disabled in 4 d 23 h/,
      /webhooks\/whk_1\/deliveries.*webhooks\/whk_1\/enable/,
    ],
    [
      () => webhook({ failingMs: 3_600_000, lastError: 'connect ECONNREFUSED', pending: 1 }),
      'whk_1',
      /the last attempt failed: connect ECONNREFUSED\. 1 event waits/,
      /enable/,
    ],
  ],
  webhook_disabled: [
    [
      () => webhook({ status: 'disabled', disabledReason: 'gone', changedMs: 60_000 }),
      'whk_1',
      /disabled 1 min 0 s ago, because its receiver answered 410\. 3 events wait/,
      /whk_1\/enable.*DELETE/,
    ],
    [
      () => webhook({ status: 'disabled', disabledReason: 'failing', pending: 0, oldestMs: null }),
      'whk_1',
      /no delivery succeeded for five days\. no event waits/,
      /enable/,
    ],
  ],
  webhook_not_sent: [
    [
      () => webhook({ succeededMs: 31_000, dueMs: 31_000 }),
      'whk_1',
      /no sender has tried since/,
      /logs --since 10m webhook-sender/,
    ],
  ],
  webhook_replay_stopped: [
    [
      () => webhook({}, { replay: { state: 'running', idleMs: 301_000 } }),
      'rpl_1',
      /webhook whk_1 \(tenant acme, mainnet\) has made no progress for 5 min 1 s\. Deliveries queued so far: 20000\./,
      /logs --since 10m webhook-sender/,
    ],
  ],
  webhook_replay_expired: [
    [
      () => webhook({}, { replay: { state: 'expired' } }),
      'rpl_1',
      /requested 8 d 0 h ago and has expired, because no sender began it within seven days/,
      /replays\/rpl_1.*whk_1\/replay/,
    ],
  ],
} as const satisfies Readonly<Record<string, readonly Case[]>>
