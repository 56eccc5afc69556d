/** How `explain` reports an API key. */
import { explained } from '../capability.ts'
import { apiKeyAggregate } from './aggregate.ts'

export const explainedApiKey = explained(apiKeyAggregate, {
  kind: 'apiKey',
  noun: 'API key',
  texts: {
    ApiKeyIssued: ({ label, tenantId, environment, scopes, expiresAt }) =>
      `issued as "${label}" for tenant ${tenantId}, ${environment}, scopes ${scopes.join(', ')}, ${expiresAt === null ? 'never expires' : `expires at ${expiresAt}`}`,
    ApiKeyRevoked: () => 'revoked',
  },
})
