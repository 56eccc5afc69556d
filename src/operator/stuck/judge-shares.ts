/** Parties that do not sign, or have old shares; keys with which some parties do not sign: banned ones, and pairs with an accusation. */
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import { type Finding, step } from '../finding.ts'
import { bursar } from '../words.ts'
import type { ServiceFacts } from './service-facts.ts'

const OLD_SHARES = 'old shares: '

/**
 * The lines of a party's heartbeat, as `judgeParties` reads them.
 *
 * @param notSigning why the party signs nothing; `null` when it signs
 * @param shares which old shares it has; `null` for none
 * @returns `null` when nothing is wrong
 */
export function partyProblem(notSigning: string | null, shares: string | null): string | null {
  const lines = [notSigning ?? [], shares === null ? [] : `${OLD_SHARES}${shares}`].flat()
  return lines.length === 0 ? null : lines.join('\n')
}

/** What live parties report. */
export function judgeParties({ processes }: ServiceFacts): Finding[] {
  const live = processes.filter(
    ({ process, silentMs }) => process.startsWith('mpc-party-') && silentMs <= FRESH_SECONDS * 1_000,
  )
  return live.flatMap(({ process, problem }) =>
    (problem?.split('\n') ?? []).map((line) =>
      line.startsWith(OLD_SHARES) ? oldShares(process, line.slice(OLD_SHARES.length)) : notSigning(process, line),
    ),
  )
}

function notSigning(party: string, why: string): Finding {
  return {
    kind: 'mpc_party_not_signing',
    subject: party,
    problem: `${party} signs nothing. ${why}`,
    forMs: null,
    next: [
      step('Stop it, and any other process that uses its directory.', `docker compose stop ${party}`),
      step('Restore the journal of the party, then start it: docs/mpc-parties.md, "A damaged journal".'),
    ],
  }
}

function oldShares(party: string, which: string): Finding {
  return {
    kind: 'mpc_old_shares',
    subject: party,
    problem: `${party} has shares from before a refresh. ${which}`,
    forMs: null,
    next: [
      step(
        'Start the parties that are away: old shares are deleted when every party has the new ones.',
        bursar('stuck'),
      ),
      step(
        'A party that lacks the new ones gets them by a recovery of its shares: docs/mpc.md, "How to recover a lost share".',
      ),
    ],
  }
}

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
