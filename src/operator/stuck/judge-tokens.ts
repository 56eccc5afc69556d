/** Quarantined tokens, whose contracts cannot be read. Pure. */
import type { ChainNow } from '../chain-now.ts'
import { type Finding, step } from '../finding.ts'
import { bursar, count, duration } from '../words.ts'
import type { TokenNow } from './service-facts.ts'

const REASONS: Readonly<Record<string, string>> = {
  gas: 'uses more gas than a read may',
  size: 'returns more than a balance',
  none: 'reverts, or returns no number',
  timeout: 'is not answered by nodes in time',
}
/** Maximum number of tenants named that registered it. */
const MAX_NAMED = 5

export function judgeTokens(tokens: readonly TokenNow[], chains: readonly ChainNow[]): Finding[] {
  return tokens.map(({ chainId, contract, reason, sinceMs, retryInMs, attempts, tenants }) => {
    const name = chains.find(({ settings }) => settings.chainId === chainId)?.name ?? `chain-${chainId}`
    const isConfigured = tenants.length === 0
    const owner = isConfigured
      ? 'it is configured'
      : `registered by ${count(tenants.length, 'tenant')} (${tenants.slice(0, MAX_NAMED).join(', ')})`
    const when = retryInMs > 0 ? `in ${duration(retryInMs)}` : 'now'
    return {
      kind: 'token_unreadable',
      subject: `${name} ${contract}`,
      problem:
        `balanceOf of the token ${REASONS[reason] ?? 'fails'}; ${owner}. Its balances are as they were last read, transfers of it are ` +
        'refused, and everything else goes on.',
      forMs: sinceMs,
      next: [
        step(
          `It is tried again ${when}, after ${count(attempts, 'attempt')} in vain: look again then.`,
          bursar('stuck'),
        ),
        isConfigured
          ? step('If the contract is broken for good, take it out of the tokens that are configured for the chain.')
          : step('If the contract is broken for good, its tenants can remove it.', removal(chainId, contract)),
      ],
    }
  })
}

function removal(chainId: number, contract: string): string {
  const id = encodeURIComponent(`eip155:${chainId}/erc20:${contract}`)
  return `curl -s -X DELETE $URL/v1/assets/${id} -H "Authorization: Bearer $KEY"`
}
