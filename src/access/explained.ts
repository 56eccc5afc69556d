/** How `explain` reports an API key. */
import { alsoExplained, explained } from '../capability.ts'
import { type KeyLimit, unitOfLimit } from '../core/key-limits.ts'
import { formatAmount } from '../core/money.ts'
import { apiKeyAggregate } from './aggregate.ts'
import type { KeyTerms } from './events.ts'
import { keyLimitAggregate } from './limit-aggregate.ts'

export const explainedApiKey = explained(apiKeyAggregate, {
  prefix: 'key',
  noun: 'API key',
  texts: {
    ApiKeyIssued: ({ tenantId, environment, issuedBy, rotatedFrom, ...terms }) =>
      `issued ${issuedBy === null ? '' : `by ${issuedBy} `}${rotatedFrom === null ? '' : `in place of ${rotatedFrom} `}as "${terms.label}" for tenant ${tenantId}, ${environment}, ${termsText(terms)}`,
    ApiKeyChanged: ({ changedBy, ...terms }) => `changed by ${changedBy}: "${terms.label}", ${termsText(terms)}`,
    ApiKeyRotated: ({ rotatedTo, overlapEndsAt }) => `replaced by ${rotatedTo}, works until ${overlapEndsAt}`,
    ApiKeyExpired: () => 'expired',
    ApiKeyRevoked: ({ reason }) => (reason === 'reported' ? 'revoked: its token was reported' : 'revoked'),
  },
  also: alsoExplained(keyLimitAggregate, {
    ApiKeyLimitReached({ limit, left, needed }) {
      const { unit, decimals } = unitOfLimit(limit)
      const written = (amount: string) => formatAmount(BigInt(amount), decimals)
      return `refused a request for ${written(needed)} ${unit}: ${written(left)} were left of ${written(limit.amount)} in ${limit.windowSeconds} s`
    },
  }),
})

function termsText({ scopes, expiresAt, ipAllowlist, limits }: KeyTerms): string {
  const from = ipAllowlist.length === 0 ? '' : `, only from ${ipAllowlist.join(', ')}`
  return `scopes ${scopes.join(', ')}, ${expiresAt === null ? 'never expires' : `expires at ${expiresAt}`}${from}${limits.map(limitText).join('')}`
}

function limitText(limit: KeyLimit): string {
  const { unit, decimals } = unitOfLimit(limit)
  return `, at most ${formatAmount(BigInt(limit.amount), decimals)} ${unit} in ${limit.windowSeconds} s`
}
