/** Every kind of finding: its cause, its advice, and what does not cause it. */
import t from 'tap'
import { CATALOGUE } from '../../src/declarations.ts'
import { findingJson } from '../../src/operator/finding.ts'
import { isOutage } from '../../src/operator/stuck/judge.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { CASES } from '../support/operator-cases.ts'
import {
  ages,
  asks,
  CHAIN,
  down,
  GWEI,
  HEAD_ID,
  ids,
  LANE,
  lane,
  lease,
  SERVICE,
  service,
  stuck,
  unsigned,
  waits,
  without,
} from '../support/operator-facts.ts'
import { NONCE } from '../support/operator-lane-cases.ts'
import { IDLE_TRANSACTION } from '../support/operator-transaction-cases.ts'
import { webhook } from '../support/operator-webhook-cases.ts'

for (const [kind, cases] of Object.entries(CASES)) {
  t.test(`${kind} is found, alone, and says what to do`, async (t) => {
    for (const [made, subject, problem, advice] of cases) {
      const findings = made()
      t.strictSame(
        findings.map((finding) => [finding.kind, finding.subject]),
        [[kind, subject]],
      )
      const [finding] = findings
      t.match(finding?.problem, problem)
      t.match(JSON.stringify(finding?.next.map(({ say, run }) => [say, run])).replaceAll('\\"', '"'), advice)
      t.ok((finding?.next.length ?? 0) > 0, 'a finding names at least one next step')
    }
  })
}

t.test('every kind has a meaning in words, and none is left out here', async (t) => {
  t.strictSame(Object.keys(CASES).toSorted(), Object.keys(CATALOGUE.findings).toSorted())
})

t.test('a healthy service has nothing stuck, busy or not', async (t) => {
  t.strictSame(stuck({}), [])
  t.strictSame(lane({}), [], 'a transaction that was just sent is not a finding')
  t.strictSame(lane({ ...unsigned, ages: ages({ ready: 29_000 }) }), [], 'transactions may wait 29 s for a signer')
  t.strictSame(lane({ ...unsigned, ids: ids({ ready: null }) }), [], 'transactions may wait for another one')
  t.strictSame(lane({ ...unsigned, counts: waits({ waiting: 3, submitted: 64 }) }), [], 'a full lane waits for a block')
  t.strictSame(lane({ gaps: [NONCE - 1], counts: waits({ waiting: 1 }) }), [], 'a waiting transaction fills the gap')
  t.strictSame(lane({ signLease: lease(-60_000) }), [], 'an expired lease of a lane without work is not a finding')
  const open = { ...IDLE_TRANSACTION, ageMs: 29_000 }
  t.strictSame(service({ openTransactions: { transactions: [open], waitingMs: 29_000 } }), [], '29 s are not too long')
  const replaced = [...SERVICE.processes, { process: 'signer', instance: 'signer:3', silentMs: 60_000, problem: 'x' }]
  t.strictSame(service({ processes: replaced }), [], 'a process that another one replaced is not a finding')
  const forgotten = [
    ...SERVICE.processes,
    { process: 'signer', instance: 'other:3', silentMs: 3_600_001, problem: null },
  ]
  t.strictSame(service({ processes: forgotten }), [])
})

t.test('webhooks that are slow, disabled by their owner, or failing for a moment, are not findings', async (t) => {
  t.strictSame(webhook({}), [], 'a slow receiver has successes')
  t.strictSame(webhook({ succeededMs: null, dueMs: 29_000 }), [], 'a delivery may wait 29 s for a sender')
  t.strictSame(webhook({ status: 'disabled', disabledReason: 'requested' }), [])
  t.strictSame(webhook({}, { replay: { state: 'running', idleMs: 299_000 } }), [], 'a sender may restart')
  t.strictSame(webhook({ failingMs: 14 * 60_000, lastStatus: 502 }), [], 'a receiver may restart')
  matchExactly(t, webhook({}, { lagMs: 31_000 }), [
    { kind: 'subscription_behind', subject: 'webhooks', next: [{ run: /--detach webhook-sender/ }] },
  ])
  const behind = { subscriptions: [...SERVICE.subscriptions, { name: 'webhooks', lagMs: 10 ** 9 }] }
  t.strictSame(service(behind), [], 'without webhooks nobody reads the log for them')
})

t.test('fees above the cap are reported once for the chain, and for no lane', async (t) => {
  t.strictSame(
    lane(unsigned, asks(501n * GWEI)).map(({ kind }) => kind),
    ['fee_over_cap', 'fee_under_base'],
  )
  const [, head] = lane({}, asks(501n * GWEI))
  matchExactly(
    t,
    head?.next,
    [{ say: /ETHEREUM_MAX_FEE_PER_GAS_WEI to more than 502000000000/ }],
    'while the cap forbids it, the next step is to raise the cap, not the fee',
  )
})

t.test('only what answers is judged: an unknown state is not a finding', async (t) => {
  const facts = {
    service: down,
    lanes: down,
    failedJobs: { down: 'No answer.' },
    chains: [{ ...CHAIN, node: { up: false, why: 'x' } as const }],
  }
  const findings = stuck(facts)
  t.strictSame(
    findings.map(({ kind }) => kind),
    ['database_down', 'queue_down', 'node_down'],
  )
  t.ok(findings.every(isOutage))
  t.notOk(stuck({ chains: [asks(500n * GWEI)] }).some(isOutage))
})

t.test('one cause is reported once: without a follower no chain, leader or lane is a finding', async (t) => {
  const late = { ...LANE, chainNonce: NONCE + 1, ages: ages({ head: 300_000 }) }
  t.strictSame(
    stuck({ lanes: [late] }).map(({ kind }) => kind),
    ['nonce_taken', 'not_mined'],
  )
  const behind = { ...SERVICE, cursors: [{ chainId: 1, number: 997, head: 1_000, silentMs: 500 }] }
  t.strictSame(
    stuck({ service: behind, lanes: [late] }).map(({ kind }) => kind),
    ['not_mined'],
    'a nonce is not reported as taken while three unread blocks may contain it',
  )
  const unsettled = [{ chainId: 1, count: 4, id: HEAD_ID, ms: 31_000 }]
  const leaders = SERVICE.leaders.filter(({ name }) => name !== 'follow-1')
  const gone = { ...SERVICE, processes: without('chain-follower'), cursors: [], leaders, unsettled }
  t.strictSame(
    stuck({ service: gone, lanes: [late] }).map(({ kind, subject }) => [kind, subject]),
    [['process_missing', 'chain-follower']],
  )
})

t.test('in JSON a finding keeps its shape', async (t) => {
  const [finding] = service({ processes: without('submitter') })
  if (finding === undefined) throw new Error('there is no finding')
  t.strictSame(Object.keys(findingJson(finding)), ['kind', 'subject', 'problem', 'for_ms', 'next'])
  t.strictSame(Object.keys(finding.next[0] ?? {}), ['say', 'run'])
})
