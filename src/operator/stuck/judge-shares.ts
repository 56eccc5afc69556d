/** Keys with which some parties do not sign: banned ones, and pairs with an accusation. */
import { type Finding, step } from '../finding.ts'
import type { ServiceFacts } from './service-facts.ts'

export function judgeBans({ bannedKeys }: ServiceFacts): Finding[] {
  return bannedKeys.map(({ keyId, walletId, banned }) => ({
    kind: 'mpc_party_banned' as const,
    subject: walletId ?? keyId,
    problem: `Party ${banned.join(', ')} failed a check by the other parties and no longer signs with ${keyId}${walletId === null ? ', a key of the key pool' : ` of ${walletId}`}.`,
    forMs: null,
    next: [
      step(
        'Find out why: its share is damaged, its disk was restored to an older state, or the party is compromised.',
        `docker compose logs mpc-party-${banned[0]}`,
      ),
      walletId === null
        ? step('No wallet has this key: nothing needs to be done.')
        : step('Refresh the shares, which lifts the ban.', sharesRequest(walletId)),
    ],
  }))
}

export function judgeAccusations({ accusedKeys }: ServiceFacts): Finding[] {
  return accusedKeys.map(({ keyId, walletId, accusations }) => {
    const words = accusations.map(
      ({ party, accused_by: by }) => `party ${by} reports that party ${party} failed a check`,
    )
    const parties = [...new Set(accusations.flatMap(({ party, accused_by: by }) => [by, party]))]
    return {
      kind: 'mpc_party_accused' as const,
      subject: walletId ?? keyId,
      problem: `Of ${keyId}, ${words.join(', and ')}: they do not sign together. Either party may be at fault.`,
      forMs: null,
      next: [
        step(
          'Check both: a party that accuses several others is more likely at fault.',
          `docker compose logs ${parties.map((party) => `mpc-party-${party}`).join(' ')}`,
        ),
        walletId === null
          ? step('No wallet has this key: nothing needs to be done.')
          : step('Refresh the shares: the parties then sign together again.', sharesRequest(walletId)),
      ],
    }
  })
}

function sharesRequest(walletId: string): string {
  return `curl -s -X POST $URL/v1/wallets/${walletId}/shares/refresh -H "Authorization: Bearer $KEY" -H "Idempotency-Key: $(uuidgen)"`
}
