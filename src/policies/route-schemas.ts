/** Schemas of the routes of policies. `schemas.ts` has that of a policy. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { pageQuery, pageSchema } from '../http/paging.ts'
import { closedObject, environmentSchema, instant, nullable, oneOf, text } from '../http/schemas.ts'
import { VERSION_STATUSES } from './aggregate.ts'
import { COUNTING_BASES } from './events.ts'
import { policyBody, ruleSchema } from './schemas.ts'

const KEY_ID = 'key_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
/** More versions than a tenant will ever have. */
export const MAX_VERSION = 999_999_999

const keySchema = (description: string) => Type.String({ description, examples: [KEY_ID] })
const versionNumber = (description: string, example = 3) =>
  Type.Integer({ minimum: 1, maximum: MAX_VERSION, description, examples: [example] })
const revisionNumber = (description: string) =>
  Type.Integer({ minimum: 0, maximum: MAX_VERSION, description, examples: [4] })
const hashSchema = Type.String({
  description: 'SHA-256 of the policy in its normalised form, as canonical JSON (RFC 8785), in hex.',
  examples: ['5f8a1c4de0a4c1b4b6d9a6a2f0a1fdd5f3a3c0b9c6a7c1de3c0b9f8e7d6c5b4a'],
})
const noteSchema = text(256, { description: 'A note for people.', examples: ['Cap the hot wallets'] })

const warningSchema = Type.Object({
  code: Type.String({ description: 'A stable code.', examples: ['never_matches'] }),
  rule: nullable(Type.String({ description: 'The id of the rule. Null for the policy.', examples: ['daily-cap'] })),
  message: Type.String({
    description: 'The warning, for people.',
    examples: ['The rule daily-cap never matches: wallet_tags has nothing in it.'],
  }),
})

export const summaryFields = {
  version: versionNumber('The number of the version. It never means another policy.'),
  status: oneOf(VERSION_STATUSES, {
    description:
      '`active` decides. `shadow` reserves and reports, and denies nothing. `ended`: a shadow that was never active. `replaced`: it was active.',
    examples: ['active'],
  }),
  hash: hashSchema,
  rules: Type.Integer({ description: 'How many rules it has.', examples: [2] }),
  draft_revision: revisionNumber('The revision of the draft that it was.'),
  shadowed_at: nullable(instant('When it became the shadow. Null if it was published at once.')),
  shadowed_by: nullable(keySchema('The id of the API key that made it the shadow. Null if it was published at once.')),
  published_at: nullable(instant('When it was published. Null if it was not.')),
  published_by: nullable(keySchema('The id of the API key that published it. Null if it was not published.')),
  previous_version: nullable(
    Type.Integer({ description: 'The version that it replaced; 0 if it was the first. Null if it was not published.' }),
  ),
  previous_hash: nullable({
    ...hashSchema,
    description: 'The hash of the version that it replaced. Null if there was none.',
  }),
  counting_basis: nullable(
    oneOf(COUNTING_BASES, {
      description:
        'Why its limits know the past. `seeded`: what was spent before was added up. `counted`: the version before counted the same. ' +
        '`nothing_opened`: nothing had been requested before. Null if it was not published.',
      examples: ['seeded'],
    }),
  ),
  forced: nullable(
    text(256, { description: 'Why it was published although no API key could publish another one. Null if one can.' }),
  ),
  ended_at: nullable(instant('When it was replaced, or ended as the shadow. Null while it is in force.')),
}

export const versionSummarySchema = named('PolicyVersionSummary', Type.Object(summaryFields))
const versionFields = { ...summaryFields, policy: policyBody }
const versionSchema = named('PolicyVersion', Type.Object(versionFields))

const draftSchema = named(
  'PolicyDraft',
  Type.Object({
    revision: revisionNumber(
      'Counts up with each draft. Send it with the next one, and with what you do with this one.',
    ),
    policy: policyBody,
    note: nullable(noteSchema),
    drafted_at: instant('When it was drafted.'),
    drafted_by: keySchema('The id of the API key that drafted it.'),
    warnings: Type.Array(warningSchema, { description: 'What is valid and probably not meant.' }),
  }),
)

export const policiesSchema = named(
  'Policies',
  Type.Object({
    environment: environmentSchema,
    active: nullable({ ...versionSchema, description: 'The version that decides. Null if there is none.' }),
    shadow: nullable(
      named(
        'ShadowPolicy',
        Type.Object(
          {
            ...versionFields,
            seeded: Type.Boolean({
              description: 'Whether its limits have what was spent before: then it can be published.',
              examples: [true],
            }),
          },
          { description: 'The version that counts and reports, and refuses nothing. Null if there is none.' },
        ),
      ),
    ),
    draft: nullable({ ...draftSchema, description: 'What is being written. Null if nothing was drafted yet.' }),
  }),
)

export const versionPageSchema = named('PolicyVersionPage', pageSchema('versions', versionSummarySchema))

const changedSchema = (value: 'default' | 'price_max_age_seconds') =>
  nullable(
    Type.Object(
      { before: policyBody.properties[value], after: policyBody.properties[value] },
      { description: 'Null if it is the same.' },
    ),
  )
const diffSchema = named(
  'PolicyDiff',
  Type.Object({
    against: Type.Integer({
      description: 'The version that it is compared with: `before` is of that one.',
      examples: [2],
    }),
    default: changedSchema('default'),
    price_max_age_seconds: changedSchema('price_max_age_seconds'),
    rules: Type.Object(
      {
        added: Type.Array(ruleSchema, { description: 'Rules that it has, and the other version does not.' }),
        removed: Type.Array(ruleSchema, { description: 'Rules that the other version has, and it does not.' }),
        changed: Type.Array(
          Type.Object({
            id: ruleSchema.properties.id,
            before: { ...ruleSchema, description: 'The rule in the other version.' },
            after: { ...ruleSchema, description: 'The rule in this version.' },
          }),
          { description: 'Rules of both with other contents.' },
        ),
      },
      { description: 'Rules that differ, by id.' },
    ),
    lists: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The name of the list.', examples: ['payroll'] }),
        added: Type.Array(Type.String({ examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'] }), {
          description: 'Addresses that it has, and the other version does not.',
        }),
        removed: Type.Array(Type.String({ examples: ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'] }), {
          description: 'Addresses that the other version has, and it does not.',
        }),
      }),
      { description: 'Lists that differ.' },
    ),
  }),
)

export const draftBody = closedObject({
  revision: revisionNumber('The revision of the draft that this one replaces; 0 for the first draft.'),
  policy: policyBody,
  note: Type.Optional(noteSchema),
})

export const shadowBody = closedObject({
  revision: revisionNumber('The revision of the draft that becomes the shadow.'),
})

export const publishBody = closedObject(
  {
    revision: Type.Optional(revisionNumber('The revision of the draft to publish.')),
    version: Type.Optional(versionNumber('Instead: the number of the shadow to publish.')),
    force: Type.Optional(
      Type.Boolean({ description: 'Publish it although no API key could publish another one. Default: false.' }),
    ),
    reason: Type.Optional(text(256, { minLength: 1, description: 'With `force`: why. It is recorded.' })),
  },
  { minProperties: 1, examples: [{ version: 3 }] },
)

export const endShadowQuery = closedObject({
  version: Type.Optional(versionNumber('The number of the shadow that you have read: another one is not ended.')),
})

export const versionParams = closedObject({
  version: Type.String({
    pattern: '^(draft|[1-9]\\d{0,8})$',
    description: 'The number of a version, or `draft`.',
    examples: ['3'],
    'x-rule': 'must be the number of a version, or draft',
    'x-code': 'invalid_id',
  }),
})

export const versionsQuery = closedObject(pageQuery)
export const versionQuery = closedObject({
  against: Type.Optional(versionNumber('Another version: `diff` says what differs from it.', 2)),
})

export const versionDetailSchema = named(
  'PolicyVersionDetail',
  Type.Object({
    version: nullable(versionNumber('The number of the version. Null for the draft.')),
    revision: revisionNumber('The revision of the draft that it is or was.'),
    summary: nullable({ ...versionSummarySchema, description: 'When it was in force. Null for the draft.' }),
    policy: policyBody,
    diff: nullable({ ...diffSchema, description: 'What differs from the version `against`. Null without it.' }),
  }),
)
