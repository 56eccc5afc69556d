/** Problems other than lanes: processes, leaders, followers, subscriptions, parties, jobs, waiting work. Pure. */
import { PROCESS_LIST, type ProcessKind } from '../../core/processes.ts'
import type { QueueName } from '../../core/registry.ts'
import type { FailedJob } from '../../jobs/jobs.ts'
import { FRESH_SECONDS } from '../../wallets/signer-presence.ts'
import type { ChainNow } from '../chain-now.ts'
import { type Finding, step } from '../finding.ts'
import type { ProcessNow, ReaderNow } from '../for-operators.ts'
import type { Limits } from '../limits.ts'
import { bursar, count, duration, startProcess } from '../words.ts'
import { isFollowed, judgeFollower } from './judge-following.ts'
import { judgeKeystores } from './judge-keystores.ts'
import { judgeReaders } from './judge-readers.ts'
import { judgeAccusations, judgeBans, judgeParties } from './judge-shares.ts'
import { judgeTransactions } from './judge-transactions.ts'
import type { ServiceFacts } from './service-facts.ts'

/** Older rows belong to replaced processes; the next process that stops deletes them. */
const FORGOTTEN_MS = 60 * 60_000
const FRESH_MS = FRESH_SECONDS * 1_000

export type ServiceContext = {
  readonly chains: readonly ChainNow[]
  readonly limits: Limits
  /** Parties of this installation's joint keys. */
  readonly parties: readonly number[]
  /** Processes of capabilities that read the log. */
  readonly readers: readonly ReaderNow[]
}

/** Findings with their place in what `stuck` prints. */
export type PlacedFindings = { readonly place: number; readonly found: readonly Finding[] }

/** How many processes of a kind have a recent heartbeat. */
export function liveOf(processes: readonly ProcessNow[], name: string): number {
  return processes.filter(({ process, silentMs }) => process === name && silentMs <= FRESH_MS).length
}

export function judgeService(facts: ServiceFacts, context: ServiceContext): readonly PlacedFindings[] {
  return [
    { place: 10, found: judgeProcesses(facts, context) },
    { place: 20, found: judgeKeystores(facts) },
    { place: 50, found: judgeLeaders(facts, context) },
    { place: 60, found: judgeTransactions(facts.openTransactions, context.limits, context.readers) },
    { place: 70, found: judgeReaders(facts, context.readers) },
    { place: 80, found: judgeFollowers(facts, context) },
    { place: 90, found: [...judgeParties(facts), ...judgeBans(facts), ...judgeAccusations(facts)] },
    { place: 100, found: judgeWork(facts, context.limits) },
  ]
}

function judgeFollowers(facts: ServiceFacts, context: ServiceContext): Finding[] {
  return [
    // That no follower is alive is already reported.
    ...(liveOf(facts.processes, 'chain-follower') === 0
      ? []
      : context.chains.flatMap((chain) => judgeFollower(facts, chain, context.limits))),
    ...judgeUnsettled(facts, context),
  ]
}

function judgeProcesses({ processes }: ServiceFacts, { parties, readers }: ServiceContext): Finding[] {
  const isNeeded = {
    always: () => true,
    'for its capability': (kind: ProcessKind) => readers.some(({ process, isNeeded }) => process === kind && isNeeded),
    'for mpc wallets': () => parties.length > 0,
  }
  const names = PROCESS_LIST.filter(({ needed, kind }) => isNeeded[needed](kind)).flatMap(({ kind, numbered }) =>
    numbered ? parties.map((number) => `${kind}-${number}`) : [kind],
  )
  return names.flatMap((name): Finding[] => {
    const own = processes.filter(({ process }) => process === name)
    const last = own.toSorted((a, b) => a.silentMs - b.silentMs)[0]
    if (liveOf(processes, name) === 0) return [missing(name, last)]
    return own.filter((one) => isLost(one, own)).map(silent)
  })
}

function missing(name: string, last: ProcessNow | undefined): Finding {
  const isParty = name.startsWith('mpc-party-')
  const silence =
    last === undefined ? 'never ran, or stopped cleanly' : `stopped sending heartbeats ${duration(last.silentMs)} ago`
  return {
    kind: isParty ? 'mpc_party_down' : 'process_missing',
    subject: name,
    problem: `No ${name} is running: the last one ${last === undefined ? '' : `(${last.instance}) `}${silence}.`,
    forMs: last?.silentMs ?? null,
    next: [
      step('Start it.', startProcess(name)),
      step('If it is running, it cannot reach the database: read its log.', `docker compose logs --since 10m ${name}`),
      ...(isParty
        ? [step('If its disk is lost, recover its shares: docs/mpc.md, "How to recover a lost share".')]
        : []),
    ],
  }
}

/** No recent heartbeat, row not yet expired, and no live process of its kind on the same host (`host:pid`). */
function isLost({ instance, silentMs }: ProcessNow, own: readonly ProcessNow[]): boolean {
  const host = (name: string) => name.slice(0, name.lastIndexOf(':'))
  return (
    silentMs > FRESH_MS &&
    silentMs < FORGOTTEN_MS &&
    !own.some((other) => other.silentMs <= FRESH_MS && host(other.instance) === host(instance))
  )
}

function silent({ process, instance, silentMs }: ProcessNow): Finding {
  return {
    kind: 'process_silent',
    subject: `${process} ${instance}`,
    problem: `${process}@${instance} stopped sending heartbeats ${duration(silentMs)} ago; other processes of its kind continue its work.`,
    forMs: silentMs,
    next: [
      step(
        'Start it again. If it was removed on purpose, ignore this: the finding ends after an hour.',
        startProcess(process),
      ),
    ],
  }
}

function judgeLeaders({ leaders, processes }: ServiceFacts, { chains, limits, readers }: ServiceContext): Finding[] {
  const needed = [
    ...readers.filter(({ isNeeded }) => isNeeded).map(({ subscription, process }) => [subscription, process] as const),
    ['dispatcher', 'dispatcher'],
    ['sweeper', 'dispatcher'],
    ...chains.map(({ settings }) => [`follow-${settings.chainId}`, 'chain-follower'] as const),
  ] as const
  return needed.flatMap(([name, process]): Finding[] => {
    const leader = leaders.find((one) => one.name === name)
    if (leader !== undefined && -leader.expiresInMs <= limits.leaseGraceMs) return []
    // That no process of its kind is alive is already reported.
    if (liveOf(processes, process) === 0) return []
    const problem =
      leader === undefined
        ? `${name} has no leader.`
        : `${leader.holder} led ${name} and has not renewed its lease for ${duration(-leader.expiresInMs)}; nobody has taken over.`
    return [
      {
        kind: 'nobody_leads',
        subject: name,
        problem,
        forMs: leader === undefined ? null : -leader.expiresInMs,
        next: [
          step(
            `A ${process} is running: read in its log why it does not lead.`,
            `docker compose logs --since 10m ${process}`,
          ),
          step('Or start another one to take over.', startProcess(process)),
        ],
      },
    ]
  })
}

function judgeUnsettled({ unsettled, cursors }: ServiceFacts, { chains, limits }: ServiceContext): Finding[] {
  const followed = chains.filter((chain) => isFollowed(cursors, chain, limits))
  return unsettled
    .filter(({ ms, chainId }) => ms > limits.workMs && followed.some(({ settings }) => settings.chainId === chainId))
    .map(({ chainId, count: n, id, ms }) => ({
      kind: 'not_settled' as const,
      subject: chains.find(({ settings }) => settings.chainId === chainId)?.name ?? `chain-${chainId}`,
      problem: `${count(n, 'transaction')} with all confirmations not recorded as final, for example ${id}.`,
      forMs: ms,
      next: [
        step(
          'The follower settles transactions with each block: check that it runs.',
          'docker compose logs --since 10m chain-follower',
        ),
        step('Read the history of one.', bursar(`explain ${id}`)),
      ],
    }))
}

function judgeWork({ waiting }: ServiceFacts, limits: Limits): Finding[] {
  return waiting
    .filter(({ ids }) => ids.length > 0)
    .map(({ name, ids }) => ({
      kind: 'work_waiting',
      subject: name,
      problem: `${count(ids.length, 'item')} of ${name} not done within ${duration(limits.workMs)} of the request, the oldest is ${ids[0]}.`,
      forMs: null,
      next: [
        step('Check whether their jobs wait or have failed.', bursar('queues')),
        step(
          'Read the log of the process that does them.',
          `docker compose logs --since 10m ${WORKERS[name] ?? 'signer'}`,
        ),
      ],
    }))
}

/** The process responsible for each kind of waiting work, except the signer's. */
const WORKERS: Readonly<Record<string, string>> = { balances: 'chain-follower' }

/** @param failed the newest failed jobs of a queue; `total` is their number */
export function judgeFailedJobs(
  queue: QueueName,
  failed: readonly FailedJob[],
  total: number,
  nowMs: number,
): Finding[] {
  const [newest] = failed
  if (newest === undefined) return []
  return [
    {
      kind: 'failed_jobs',
      subject: `queue ${queue}`,
      problem: `${count(total, 'job')} failed permanently, the newest is ${newest.id}: ${newest.reason}`,
      forMs: nowMs - newest.failedAt,
      next: [
        step('List all of them with their errors.', `npm run jobs -- failed ${queue}`),
        step('Fix the cause, then queue them again.', `npm run jobs -- retry ${queue} --all`),
      ],
    },
  ]
}
