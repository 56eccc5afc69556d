/** How `explain` reports the policy of a tenant. */
import { explained } from '../capability.ts'
import { policyAggregate } from './aggregate.ts'
import type { PolicyPublished } from './events.ts'

export const explainedPolicy = explained(policyAggregate, {
  prefix: null,
  idRule: 'policy-<tenant>-<environment>',
  noun: 'policy',
  texts: {
    PolicyDrafted: ({ revision, policy, note }) =>
      `draft ${revision}: ${rulesText(policy)}${note === null ? '' : `, "${note}"`}`,
    PolicyShadowed: ({ version, revision, policy, isSeeded }) =>
      `draft ${revision} became the shadow, version ${version}: ${rulesText(policy)}${isSeeded ? '' : ', not seeded yet'}`,
    PolicySeeded: ({ version }) => `the limits of version ${version} have what was spent before`,
    PolicyShadowEnded: ({ version }) => `the shadow, version ${version}, ended`,
    PolicyPublished: ({ version, policy, previousVersion, basis, forced }) =>
      `version ${version} published${previousVersion === 0 ? '' : ` in place of ${previousVersion}`}: ${rulesText(policy)}${policy.rules.some(({ effect }) => effect === 'limit') ? `, ${BASIS[basis]}` : ''}${forced === null ? '' : `, forced: "${forced}"`}`,
  },
})

const BASIS: Readonly<Record<PolicyPublished['data']['basis'], string>> = {
  seeded: 'what was spent before was added up',
  counted: 'its limits were counted before',
  nothing_opened: 'nothing was requested before',
}

function rulesText({ default: fallback, rules }: PolicyPublished['data']['policy']): string {
  return `${rules.length === 1 ? '1 rule' : `${rules.length} rules`}, default ${fallback}`
}
