/** The cases of findings about mpc parties and tokens: see operator-cases.ts. */
import type { Finding } from '../../src/operator/finding.ts'
import { partyProblem } from '../../src/operator/stuck/judge-shares.ts'
import { service, stuck, toldOfMetadata, without } from './operator-facts.ts'

const TOKEN = {
  chainId: 1,
  contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  reason: 'gas',
  sinceMs: 3_600_000,
  retryInMs: 60_000,
  attempts: 3,
  tenants: [],
}

const reporting = (problem: string | null) => ({
  process: 'mpc-party-2',
  instance: 'mpc-party-2:7',
  silentMs: 1_000,
  problem,
})

type Case = readonly [() => Finding[], string, RegExp, RegExp]

export const PARTY_AND_TOKEN_CASES = {
  metadata_unpinned: [
    [() => stuck({ told: [toldOfMetadata({ count: 2, cid: 'bafy1' })] }), 'IPFS', /2 pieces .* bafy1/, /IPFS_API_URL/],
  ],
  mpc_party_down: [
    [
      () => service({ processes: without('mpc-party-2') }),
      'mpc-party-2',
      /No mpc-party-2/,
      /docs\/mpc\.md, "How to recover a lost share"/,
    ],
  ],
  mpc_party_not_signing: [
    [
      () =>
        service({ processes: [...without('mpc-party-2'), reporting(partyProblem('The journal is damaged.', null))] }),
      'mpc-party-2',
      /mpc-party-2 signs nothing\. The journal is damaged\./,
      /docs\/mpc-parties\.md, "A damaged journal"/,
    ],
  ],
  mpc_old_shares: [
    [
      () => service({ processes: [...without('mpc-party-2'), reporting(partyProblem(null, 'It keeps mpk_1.'))] }),
      'mpc-party-2',
      /mpc-party-2 has shares from before a refresh\. It keeps mpk_1\./,
      /docs\/mpc\.md, "How to recover a lost share"/,
    ],
  ],
  mpc_party_banned: [
    [
      () => service({ bannedKeys: [{ keyId: 'mpk_1', walletId: 'wal_1', banned: [2] }] }),
      'wal_1',
      /Party 2 failed a check .* mpk_1 of wal_1/,
      /\/v1\/wallets\/wal_1\/shares\/refresh/,
    ],
    [
      () => service({ bannedKeys: [{ keyId: 'mpk_1', walletId: null, banned: [2] }] }),
      'mpk_1',
      /of the key pool/,
      /nothing needs to be done/,
    ],
  ],
  token_unreadable: [
    [
      () => service({ unreadTokens: [{ ...TOKEN, tenants: ['acme', 'globex'] }] }),
      `ethereum ${TOKEN.contract}`,
      /uses more gas than allowed for a read; registered by 2 tenants \(acme, globex\)/,
      /next attempt is in 1 min 0 s, after 3 failed attempts[\s\S]*DELETE \$URL\/v1\/assets\/eip155%3A1%2Ferc20%3A0x5FbD/,
    ],
    [
      () => service({ unreadTokens: [{ ...TOKEN, chainId: 9, reason: 'none', retryInMs: -5, tenants: [] }] }),
      `chain-9 ${TOKEN.contract}`,
      /reverts, or does not return a number; configured/,
      /next attempt is now[\s\S]*remove it from the configured tokens/,
    ],
  ],
  mpc_party_accused: [
    [
      () =>
        service({ accusedKeys: [{ keyId: 'mpk_1', walletId: 'wal_1', accusations: [{ party: 2, accused_by: 1 }] }] }),
      'wal_1',
      /Of mpk_1, party 1 reports that party 2 failed a check/,
      /\/v1\/wallets\/wal_1\/shares\/refresh/,
    ],
    [
      () => service({ accusedKeys: [{ keyId: 'mpk_1', walletId: null, accusations: [{ party: 2, accused_by: 1 }] }] }),
      'mpk_1',
      /Either party may be at fault/,
      /nothing needs to be done/,
    ],
  ],
} as const satisfies Readonly<Record<string, readonly Case[]>>
