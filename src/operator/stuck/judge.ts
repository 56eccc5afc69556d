/** All findings, the most blocking first. Pure. */
import { type Finding, step } from '../finding.ts'
import { judgeLane } from '../lanes/judge-lane.ts'
import { isOverCap } from '../lanes/lane-situation.ts'
import type { Limits } from '../limits.ts'
import { isDown } from '../operator-context.ts'
import { bursar, gwei, startProcess } from '../words.ts'
import type { Unsound } from './find-unsound.ts'
import { judgeDatabase } from './judge-database.ts'
import { followingOf } from './judge-following.ts'
import { judgeFailedJobs, judgeService, liveOf, type PlacedFindings } from './judge-service.ts'
import { judgeTokens } from './judge-tokens.ts'
import type { Facts } from './read-facts.ts'

export type JudgeContext = {
  readonly limits: Limits
  readonly parties: readonly number[]
  readonly nowMs: number
  readonly queueBackend: string
}

/**
 * The places of what is found, the smallest first: outages and the database 0, processes 10, keystores 20, leaders 50, open
 * transactions 60, readers 70, followers 80, parties 90, work 100, unsound requests 130, tokens 140, fees 150, lanes 160, failed
 * jobs 170. Those of capabilities stand among them.
 */
export function judge(facts: Facts, context: JudgeContext): Finding[] {
  const { chains, database, service, told, unsound, lanes, failedJobs } = facts
  const { limits, parties, nowMs } = context
  const ofCapabilities = isDown(told) ? [] : told
  const readers = ofCapabilities.flatMap(({ reader }) => reader ?? [])
  const live = isDown(service)
    ? null
    : { signer: liveOf(service.processes, 'signer'), submitter: liveOf(service.processes, 'submitter') }
  const judgedLanes = (isDown(lanes) ? [] : lanes).flatMap((lane) => {
    const chain = chains.find(({ settings }) => settings.chainId === lane.lane.chainId) ?? null
    const following = followingOf(isDown(service) ? [] : service.cursors, chain, limits)
    return judgeLane(lane, { chain, limits, live, ...following })
  })
  const placed: readonly PlacedFindings[] = [
    { place: 0, found: [...judgeOutages(facts, context), ...(isDown(database) ? [] : judgeDatabase(database))] },
    ...(isDown(service)
      ? []
      : [
          ...judgeService(service, { chains, limits, parties, readers }),
          ...ofCapabilities.map(({ place, judge: say }) => ({
            place,
            found: say({ processes: service.processes, chains, limits }),
          })),
          { place: 140, found: judgeTokens(service.unreadTokens, chains) },
        ]),
    { place: 130, found: (isDown(unsound) ? [] : unsound).map(notAsRecorded) },
    { place: 150, found: chains.filter(isOverCap).map(overCap) },
    { place: 160, found: judgedLanes },
    {
      place: 170,
      found: (isDown(failedJobs) ? [] : failedJobs).flatMap(({ queue, newest, total }) =>
        judgeFailedJobs(queue, newest, total, nowMs),
      ),
    },
  ]
  return placed.toSorted((a, b) => a.place - b.place).flatMap(({ found }) => found)
}

/** Findings that leave something unknown: the exit code shows it. */
export function isOutage({ kind }: Finding): boolean {
  return kind === 'database_down' || kind === 'queue_down' || kind === 'node_down'
}

function judgeOutages({ chains, service, told, lanes, failedJobs }: Facts, { queueBackend }: JudgeContext): Finding[] {
  const found: Finding[] = []
  const database = [service, told, lanes].find(isDown) ?? null
  if (database !== null) {
    found.push({
      kind: 'database_down',
      subject: 'database',
      problem: `The database does not answer: ${database.down}. Nothing is accepted, signed or recorded, and nothing is lost.`,
      forMs: null,
      next: [
        step('Check that it runs, or start it.', startProcess('postgres')),
        step('Check that DATABASE_URL reaches it from here.', 'psql $DATABASE_URL -c "SELECT 1"'),
      ],
    })
  }
  if (isDown(failedJobs)) {
    found.push({
      kind: 'queue_down',
      subject: `queues on ${queueBackend}`,
      problem: `The job queue does not answer: ${failedJobs.down} Accepted requests wait, and nothing is lost.`,
      forMs: null,
      next: [
        step('Start it: the sweeper automatically queues lost jobs again.', startProcess('redis')),
        step('Check that REDIS_URL reaches it from here.', 'redis-cli -u $REDIS_URL ping'),
      ],
    })
  }
  for (const { name, node, urlsSetting } of chains) {
    if (node.up) continue
    found.push({
      kind: 'node_down',
      subject: name,
      problem: `No node of ${name} answers: ${node.why}. Signed transactions are sent when a node answers.`,
      forMs: null,
      next: [
        step(
          `Fix the node, or add another one to ${urlsSetting} and restart the processes: they try the nodes in order.`,
        ),
        step('See how often each node failed.', 'curl -s $URL/metrics | grep bursar_rpc'),
      ],
    })
  }
  return found
}

function notAsRecorded({ id, reason }: Unsound): Finding {
  return {
    kind: 'not_as_recorded',
    subject: `transaction ${id}`,
    problem: `${id} cannot be signed: ${reason}.`,
    forMs: null,
    next: [
      step('Compare the log and its read models with the signed checkpoints.', bursar('audit verify')),
      step(
        'Find out who wrote to the database, and undo the change: the transaction is then signed.',
        bursar(`explain ${id}`),
      ),
    ],
  }
}

function overCap({ name, node, settings, capSetting }: Facts['chains'][number]): Finding {
  const base = node.up ? node.baseFeePerGas : 0n
  const needed = base + settings.minTipWei
  return {
    kind: 'fee_over_cap',
    subject: name,
    problem: `${name} requires ${gwei(needed)} per gas, but the cap is ${gwei(settings.maxFeePerGasWei)}: nothing is signed on this chain.`,
    forMs: null,
    next: [
      step('Wait for fees to fall: waiting transactions are then signed, unless their valid_until has passed.'),
      step(
        `Or set ${capSetting} to more than ${needed} (wei) and restart the signers and the API.`,
        startProcess('signer api'),
      ),
    ],
  }
}
