/** One round: a load of transfers, faults meanwhile, and the audit once everything has come to rest. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Audit, auditChain } from '../support/chain-audit.ts'
import { type Answered, type LoadTransfer, type LoadWallet, replayTransfers, sendTransfers } from '../support/load.ts'
import type { Random } from '../support/load-random.ts'
import { type Unsettled, untilSettled } from '../support/load-settle.ts'
import { auditLog, firstConfirmations } from '../support/log-audit.ts'
import { operatorVerifies } from '../support/operator-verify.ts'
import type { Service } from '../support/service.ts'
import type { World } from '../support/world.ts'
import { describeFault, type Fault } from './fault-plan.ts'
import { type Hits, liesTold, strikeAll } from './strike.ts'

export type Round = {
  readonly world: World
  readonly wallets: readonly LoadWallet[]
  readonly transfers: readonly LoadTransfer[]
  readonly faults: readonly Fault[]
  readonly random: Random
  /**
   * Fraction of exchanges with false answers of nodes until everything is settled, in addition to other faults. Default
   * 0.
   */
  readonly unrest?: number
  /** Whether to verify every hash and fold the whole log, in addition to the chain audit. Default true. */
  readonly provesLog?: boolean
  /** Requests of earlier rounds on the same service: they are audited again. */
  readonly earlier: readonly Answered[]
  readonly onProgress?: (progress: Progress) => void
}

export type Progress = {
  readonly answered: number
  readonly of: number
  readonly unsettled: Unsettled | null
  readonly fault: string | null
}

export type RoundResult = {
  readonly answers: readonly Answered[]
  readonly audit: Audit
  readonly hits: Hits
  /** For each kill of everything: milliseconds until the first new confirmation was in the log. */
  readonly recoveriesMs: readonly number[]
  /** Events of the whole log, each of which was hashed and folded; 0 when that is left to a later round. */
  readonly events: number
  /** From the last fault until `/readyz` succeeds. */
  readonly readyMs: number
  /** From the last fault until every accepted transfer has ended and the followers are at their heads. */
  readonly settledMs: number
}

const REPLAYED = 0.05
/** Fractions of accepted transfers that their owners cancel, or speed up. */
const CANCELLED = 0.02
const SPED_UP = 0.02
const CHANGE_WITHIN_MS = 2_500

export async function runRound(round: Round): Promise<RoundResult> {
  const {
    world,
    wallets,
    transfers,
    faults,
    random,
    earlier,
    unrest = 0,
    provesLog = true,
    onProgress = () => undefined,
  } = round
  const { service } = world
  const problems: string[] = []
  const deathsBefore = service.deaths().length
  let answered = 0
  const tell = (fault: string | null, unsettled: Unsettled | null = null) =>
    onProgress({ answered, of: transfers.length, unsettled, fault })
  // Decided before anything runs: the effects of a seed must not depend on timing.
  const changes = new Map(
    transfers.map(({ key }) => [key, { roll: random.next(), afterMs: random.between(0, CHANGE_WITHIN_MS) }]),
  )
  const replayed = new Set(transfers.filter(() => random.chance(REPLAYED)).map(({ key }) => key))
  const changing: Promise<void>[] = []
  const sending = sendTransfers(service.api, transfers, (one) => {
    answered += 1
    tell(null)
    changing.push(change(service, one, changes.get(one.transfer.key), problems))
  })
  const liesBefore = liesTold(world)
  const striking = strikeAll(world, { faults, random, unrest }, (fault) => tell(describeFault(fault))).then(
    async (struck) => ({
      ...struck,
      readyMs: await untilReady(service, struck.lastAt),
    }),
  )
  const [answers, { hits, killedAt, restarts, lastAt, readyMs }] = await Promise.all([sending, striking])
  await Promise.all(changing)
  await untilSettled(service.state, (unsettled) => tell(null, unsettled)).catch((error: Error) =>
    problems.push(error.message),
  )
  const settledMs = performance.now() - lastAt
  world.calm()
  const lies = liesTold(world) - liesBefore
  problems.push(
    ...(await replayTransfers(
      service.api,
      answers.filter(({ transfer }) => replayed.has(transfer.key)),
    )),
  )
  problems.push(...unexplained(service.deaths().slice(deathsBefore), restarts))
  const { database_url } = service.state()
  const log = provesLog ? await auditLog(database_url) : { events: 0, problems: [] }
  if (provesLog) problems.push(...(await operatorVerifies(database_url, join(service.directory, 'data'))))
  const audit = await auditChain({ places: service.state(), wallets, answers: [...earlier, ...answers] })
  return {
    answers,
    audit: { ...audit, problems: [...problems, ...log.problems, ...audit.problems] },
    events: log.events,
    recoveriesMs: await firstConfirmations(database_url, killedAt),
    hits: { ...hits, lies },
    readyMs,
    settledMs,
  }
}

/** A server that was asked to stop exits with 0. */
function unexplained(deaths: readonly string[], restarts: number): string[] {
  let told = restarts
  return deaths.flatMap((death) => {
    if (death === 'postgres (code 0)' && told > 0) {
      told -= 1
      return []
    }
    return [`a process ended that nobody killed: ${death}`]
  })
}

/** Some owners cancel or speed up: whichever version is mined first must be the final status reported to them. */
async function change(
  { api }: Service,
  { transfer, transactionId }: Answered,
  wish: { readonly roll: number; readonly afterMs: number } | undefined,
  problems: string[],
): Promise<void> {
  if (transactionId === null || wish === undefined || wish.roll > CANCELLED + SPED_UP) return
  await sleep(wish.afterMs)
  const action = wish.roll <= CANCELLED ? 'cancel' : 'speed-up'
  const path = `/v1/wallets/${transfer.wallet.id}/transactions/${transactionId}/${action}`
  const body = action === 'cancel' ? {} : { body: { gas_priority: 'high' } }
  const reply = await api.insist({ method: 'POST', path, key: `${action}-${transfer.key}`, ...body })
  if (reply.status !== 202 && reply.status !== 409)
    problems.push(`${action} of ${transfer.key}: ${reply.status} ${JSON.stringify(reply.body)}`)
}

/** Milliseconds since the last fault. */
async function untilReady({ api }: Service, lastAt: number): Promise<number> {
  for (;;) {
    const reply = await api.once({ path: '/readyz' }).catch(() => null)
    if (reply?.status === 200) return performance.now() - lastAt
    await sleep(50)
  }
}
