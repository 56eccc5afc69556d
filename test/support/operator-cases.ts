/** For each kind of finding: facts that cause it, its subject, and texts of its problem and advice. */
import type { FindingKind } from '../../src/core/registry.ts'
import type { Finding } from '../../src/operator/finding.ts'
import { DATABASE_CASES } from './operator-database-cases.ts'
import { ADDRESS, CHAIN, CONTEXT, down, HEAD_ID, SERVICE, service, stuck, without } from './operator-facts.ts'
import { LANE_CASES } from './operator-lane-cases.ts'
import { PARTY_AND_TOKEN_CASES } from './operator-party-cases.ts'
import { READER_CASES } from './operator-transaction-cases.ts'
import { SENDER_MISSING, SENDER_WITHOUT_LEADER, WEBHOOK_CASES } from './operator-webhook-cases.ts'

/** For each kind: facts that cause only this finding, its subject, and texts of its problem and advice. */
export const CASES: Readonly<Record<FindingKind, readonly (readonly [() => Finding[], string, RegExp, RegExp])[]>> = {
  ...DATABASE_CASES,
  database_down: [
    [() => stuck({ service: down, lanes: down }), 'database', /ECONNREFUSED/, /docker compose up --detach postgres/],
  ],
  not_as_recorded: [
    [
      () => stuck({ unsound: [{ id: 'tx_1', reason: 'the column amount of its row is 1, but its events give 2' }] }),
      'transaction tx_1',
      /cannot be signed: the column/,
      /audit verify/,
    ],
  ],
  queue_down: [
    [() => stuck({ failedJobs: { down: 'No answer.' } }), 'queues on Redis', /nothing is lost/, /REDIS_URL/],
  ],
  node_down: [
    [
      () => stuck({ chains: [{ ...CHAIN, node: { up: false, why: 'timeout' } }] }),
      'ethereum',
      /timeout/,
      /ETHEREUM_RPC_URLS/,
    ],
  ],
  process_missing: [
    SENDER_MISSING,
    [
      () => service({ processes: without('submitter') }),
      'submitter',
      /never ran/,
      /docker compose up --detach submitter/,
    ],
    [
      () =>
        service({
          processes: [...without('api'), { process: 'api', instance: 'h:1', silentMs: 16_000, problem: null }],
        }),
      'api',
      /h:1.*16\.0 s ago/,
      /--detach api/,
    ],
  ],
  relay_missing: [
    [
      () =>
        service({
          processes: [
            ...without('submitter'),
            { process: 'submitter', instance: 'h:1', silentMs: 0, problem: 'Left 1 swap of ethereum unsent.' },
          ],
        }),
      'submitter h:1',
      /Left 1 swap of ethereum unsent\. No node gets them/,
      /docker compose up --detach submitter/,
    ],
  ],
  keystore_wrong: [
    [
      () =>
        service({
          processes: [
            ...without('signer'),
            {
              process: 'signer',
              instance: 'h:1',
              silentMs: 1_000,
              problem: 'The keystore has no seed of tenant acme.',
            },
          ],
        }),
      'signer h:1',
      /no seed of tenant acme\. .*transfers and signatures wait/,
      /KEYSTORE_DIR.*recovery -- restore/,
    ],
  ],
  process_silent: [
    [
      () =>
        service({
          processes: [
            ...SERVICE.processes,
            { process: 'signer', instance: 'other:7', silentMs: 60_000, problem: null },
          ],
        }),
      'signer other:7',
      /other processes of its kind continue/,
      /--detach signer/,
    ],
  ],
  nobody_leads: [
    SENDER_WITHOUT_LEADER,
    [() => service({ leaders: SERVICE.leaders.slice(1) }), 'dispatcher', /no leader/, /logs --since 10m dispatcher/],
    [
      () =>
        service({
          leaders: SERVICE.leaders.map((one) => (one.name === 'follow-1' ? { ...one, expiresInMs: -21_000 } : one)),
        }),
      'follow-1',
      /has not renewed its lease for 21\.0 s/,
      /logs --since 10m chain-follower/,
    ],
  ],
  follower_halted: [
    [() => service({ cursors: [] }), 'ethereum', /has never been followed/, /--detach chain-follower/],
    [
      () => service({ cursors: [{ chainId: 1, number: 990, head: 990, silentMs: 61_000 }] }),
      'ethereum',
      /has been at block 990/,
      /at block 1000/,
    ],
    [
      () =>
        service({
          stalls: [{ chainId: 1, reason: 'the node has no block 1001', waits: false, refused: false, sinceMs: 46_000 }],
        }),
      'ethereum',
      /at block 1000 for 46.0 s: the node has no block 1001/,
      /logs --since 10m chain-follower/,
    ],
    [
      () =>
        service({
          stalls: [
            {
              chainId: 1,
              reason: 'block 990, which was followed, is final',
              waits: false,
              refused: true,
              sinceMs: 46_000,
            },
          ],
        }),
      'ethereum',
      /ethereum does not move: block 990, which was followed, is final\. /,
      /npm run bursar -- accept-reorg ethereum/,
    ],
  ],
  quorum_missing: [
    [
      () =>
        service({
          stalls: [
            {
              chainId: 1,
              reason: '1 of 2 nodes answers, and 2 are needed',
              waits: true,
              refused: false,
              sinceMs: 46_000,
            },
          ],
        }),
      'ethereum',
      /Settling waits on ethereum: 1 of 2 nodes answers/,
      /logs --since 10m chain-follower/,
    ],
  ],
  follower_behind: [
    [
      () => service({ cursors: [{ chainId: 1, number: 979, head: 990, silentMs: 10 }] }),
      'ethereum',
      /21 blocks behind/,
      /stuck/,
    ],
  ],
  not_settled: [
    [
      () => service({ unsettled: [{ chainId: 1, count: 4, id: HEAD_ID, ms: 31_000 }] }),
      'ethereum',
      /4 transactions/,
      /explain tx_/,
    ],
  ],
  failed_jobs: [
    [
      () =>
        stuck({
          failedJobs: [
            {
              queue: 'lane',
              total: 3,
              newest: [
                {
                  id: `1-${ADDRESS}`,
                  data: {},
                  reason: 'the node is away',
                  at: null,
                  attempts: 8,
                  times: 1,
                  failedAt: CONTEXT.nowMs - 5_000,
                },
              ],
            },
          ],
        }),
      'queue lane',
      /3 jobs failed permanently, .*: the node is away/,
      /npm run jobs -- retry lane --all/,
    ],
  ],
  work_waiting: [
    [
      () => service({ waiting: [{ name: 'wallets', ids: ['wal_1', 'wal_2'] }] }),
      'wallets',
      /2 items of wallets .* the oldest is wal_1/,
      /logs --since 10m signer/,
    ],
    [
      () => service({ waiting: [{ name: 'balances', ids: ['wal_1'] }] }),
      'balances',
      /1 item/,
      /logs --since 10m chain-follower/,
    ],
  ],
  ...PARTY_AND_TOKEN_CASES,
  ...LANE_CASES,
  ...READER_CASES,
  ...WEBHOOK_CASES,
}
