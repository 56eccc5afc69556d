/** The declaration of policies: what is in force for a tenant in an environment, its versions, and what they refused. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { CountersSeeded, PolicyEvent, PolicyRefused, SpendFound } from './events.ts'

export const policies = {
  name: 'policies',
  scopes: {
    'policies:read': { byNameAlone: true },
    'policies:write': { byNameAlone: true },
    'policies:publish': { byNameAlone: true },
  },
  tables: {
    policies: { follows: 'stream', grants: readBy([...READERS, 'dispatcher']) },
    policy_versions: { follows: 'stream', grants: readBy([...READERS, 'dispatcher']) },
  },
  streams: {
    policy: {
      rows: {
        policies: {
          of: '{tenant_id}-{environment}',
          changes: {
            PolicyDrafted: [
              ...WHOLE_ROW,
              ...['draft_revision', 'draft', 'draft_note', 'drafted_by', 'drafted_at', 'updated_at'],
            ],
            PolicyShadowed: ['shadow_version', 'shadow_seeded', 'updated_at'],
            PolicySeeded: ['shadow_seeded', 'updated_at'],
            PolicyShadowEnded: ['shadow_version', 'shadow_seeded', 'updated_at'],
            PolicyPublished: ['active_version', 'shadow_version', 'shadow_seeded', 'updated_at'],
          },
        },
        policy_versions: {
          of: '{tenant_id}-{environment}',
          changes: {
            PolicyShadowed: WHOLE_ROW,
            PolicyShadowEnded: ['status', 'ended_at'],
            PolicyPublished: [
              ...WHOLE_ROW,
              ...[
                'status',
                'previous_version',
                'previous_hash',
                'basis',
                'forced',
                'published_by',
                'published_at',
                'ended_at',
              ],
            ],
          },
        },
      },
      readScope: 'policies:read',
      events: {
        PolicyDrafted: ['api'],
        PolicyShadowed: ['api'],
        PolicySeeded: ['dispatcher'],
        PolicyShadowEnded: ['api'],
        PolicyPublished: ['api'],
      } satisfies EventWriters<PolicyEvent>,
    },
    policyseeding: {
      rows: {},
      readScope: 'policies:read',
      events: { CountersSeeded: ['dispatcher'] } satisfies EventWriters<CountersSeeded>,
    },
    foundspend: {
      rows: {},
      readScope: 'policies:read',
      events: { SpendFound: ['dispatcher'] } satisfies EventWriters<SpendFound>,
    },
    policydenials: {
      rows: {},
      readScope: 'policies:read',
      events: { PolicyRefused: ['api'] } satisfies EventWriters<PolicyRefused>,
    },
  },
  tasks: ['policy-seeding', 'found-spends'],
  errors: {
    validation_error: {
      approval_unavailable: 'Use `deny`, or keep the draft: nobody can approve yet.',
    },
    not_found: {
      policy_version_not_found: 'Check the number: `GET /v1/policies/versions` lists them.',
    },
    conflict: {
      policy_changed: 'Read the policy again: another request changed it. `details` has what is current.',
      policy_changes_exhausted: 'Change the policy again after midnight UTC, or use fewer addresses.',
      policy_locks_out: 'Let a key with `policies:publish` create API keys, or send `force` true with a `reason`.',
      policy_not_seeded: 'Shadow the draft, wait until it is seeded, and publish its version.',
    },
    policy_error: {
      policy_denied: 'Send what the policy allows, or change the policy: `details` names the rule and its version.',
      policy_limit: 'Send less, wait until `details.available_at`, or change the policy.',
    },
  },
  counters: {
    bursar_policy_refusals_total: {
      help: 'Requests refused by a policy, by rule (`default` for none, `others` beyond the first 200 names), reason and effect: `refused`, or `reported` by a shadow.',
      labels: ['rule', 'reason', 'effect'],
    },
    bursar_policy_rejudged_total: {
      help: 'Requests judged again, because another version of the policy or other tags of the wallet were in force when they were recorded.',
      labels: [],
    },
    bursar_policy_mismatches_total: {
      help: 'Checks by a signer or a party that found a recorded request not to be as the policy of the log says. It is checked again as long as it waits.',
      labels: [],
    },
  },
  tags: {
    Policies: { description: 'Say what your wallets may do: rules, limits, tests and versions.', place: 110 },
  },
  quotas: {
    backtested_events_per_second: {
      kind: 'rate',
      place: 130,
      // A test judges some 20,000 in a second of a process: one tenant has at most a third of it for long.
      default: 10_000,
      description:
        'Maximum number of events of the log per second and API process that are read to test policies of a tenant on the past. A burst can use ten seconds of it',
      counted: 'events per second that were read to test policies on the past',
      remedy: 'Send the request again later, or test a shorter time',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly policies: typeof policies
  }
}
