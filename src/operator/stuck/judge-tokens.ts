/** Quarantined tokens, whose contracts cannot be read. Pure. */
import type { ChainNow } from '../chain-now.ts'
import { type Finding, step } from '../finding.ts'
import { bursar, count, duration } from '../words.ts'
import type { TokenNow } from './service-facts.ts'

const REASONS: Readonly<Record<string, string>> = {
  gas: 'uses more gas than allowed for a read',
  size: 'returns more data than a balance',
  none: 'reverts, or does not return a number',
  timeout: 'is not answered by nodes in time',
}
/** Maximum number of tenants named that registered it. */
const MAX_NAMED = 5

export function judgeTokens(tokens: readonly TokenNow[], chains: readonly ChainNow[]): Finding[] {
  return tokens.map(({ chainId, contract, reason, sinceMs, retryInMs, attempts, tenants }) => {
    const name = chains.find(({ settings }) => settings.chainId === chainId)?.name ?? `chain-${chainId}`
    const isConfigured = tenants.length === 0
    const owner = isConfigured
      ? 'configured for the chain'
      : `registered by ${count(tenants.length, 'tenant')} (${tenants.slice(0, MAX_NAMED).join(', ')})`
    const when = retryInMs > 0 ? `in ${duration(retryInMs)}` : 'now'
    return {
      kind: 'token_unreadable',
      subject: `${name} ${contract}`,
      problem:
        `balanceOf of the token ${REASONS[reason] ?? 'fails'}; ${owner}. Its balances are not updated, transfers of it are ` +
        'refused, and everything else continues.',
      forMs: sinceMs,
      next: [
        step(
          `The next attempt is ${when}, after ${count(attempts, 'failed attempt')}: check again then.`,
          bursar('stuck'),
        ),
        isConfigured
          ? step('If the contract is permanently broken, remove it from the configured tokens of the chain.')
          : step(
              'If the contract is permanently broken, its tenants can remove the token.',
              removal(chainId, contract),
            ),
      ],
    }
  })
}

function removal(chainId: number, contract: string): string {
  const id = encodeURIComponent(`eip155:${chainId}/erc20:${contract}`)
  return `curl -s -X DELETE $URL/v1/assets/${id} -H "Authorization: Bearer $KEY"`
}
