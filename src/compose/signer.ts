/**
 * The signer process: the only one that holds whole keys, and the coordinator of the parties that hold shares. Creates
 * wallets' keys; signs transactions of lanes, vouchers, messages and typed data; seals keys for export.
 */
import { randomInt } from 'node:crypto'
import type { SigningNeeds } from '../capability.ts'
import { countsNow } from '../chain/transaction-counts.ts'
import { createInTurn } from '../core/in-turn.ts'
import { mapValues } from '../core/map-values.ts'
import { onceEach } from '../core/once-each.ts'
import type { Fence } from '../event-log/leases.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { createHdSigner } from '../keys/hd.ts'
import { signerByKind } from '../keys/signer-by-kind.ts'
import type { WatchRestores } from '../restores/watch-restores.ts'
import { createCompareLane, type LaneReports } from '../transactions/compare-lane.ts'
import { createEstimateGas } from '../transactions/estimate-gas.ts'
import { createNeededGas } from '../transactions/gas-budget.ts'
import { heldText } from '../transactions/held-cause.ts'
import { createDeferred, createHeldLanes } from '../transactions/held-lanes.ts'
import type { LaneChain, LaneContext } from '../transactions/lane-context.ts'
import { createLaneReads, type Lane } from '../transactions/lanes.ts'
import { createObservedBlock } from '../transactions/observed-block.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import { createPlainGas, emptyTransferGas } from '../transactions/plain-gas.ts'
import { createRefusedByToken } from '../transactions/refused-by-token.ts'
import { signLane } from '../transactions/sign-lane.ts'
import { adoptTagKey, requireTagKeys } from '../transactions/tag-key.ts'
import type { HeldKeys, KeyKind } from '../wallets/key-kinds.ts'
import { makeHdWallet } from '../wallets/make-hd-wallet.ts'
import { makeKey } from '../wallets/make-key.ts'
import { createSigningWalletOf } from '../wallets/signing-wallet.ts'
import { handleSigning, KEY_KINDS, KINDS } from './capabilities.ts'
import { whenDatabaseAnswers } from './check-database.ts'
import { composeCheckRecorded } from './check-recorded.ts'
import { composeCheckRequests, startLogClock } from './check-requests.ts'
import type { Kernel } from './kernel.ts'
import { openKnownSeeds } from './known-seeds.ts'
import { workOnLanes } from './lanes.ts'
import { openKeystore } from './open-keystore.ts'
import { composeRecordedWallets } from './recorded-wallets.ts'
import { reportUnstorable } from './report-unstorable.ts'
import { composeWatchRestores, requireWholeLog, warnOfMissingFile } from './restores.ts'
import type { Work } from './run-process.ts'

const WALLETS_AT_ONCE = 8
/** Random numbers are one of so many. */
const DRAWS = 2 ** 32
/**
 * Concurrent ceremonies of the parties: more than one tenant may have at once (`QUEUE_LIMITS`), so that others have
 * room.
 */
const MPC_KEYS_AT_ONCE = 6
const MPC_SIGNATURES_AT_ONCE = 12
/** Of one tenant, in all processes. */
const MPC_SIGNATURES_OF_TENANT = 8

/**
 * @param kinds of keys: those that can be opened are held beside the keys of the keystore. Wallets of others wait
 */
export async function startSigner(
  kernel: Kernel,
  signal: AbortSignal,
  kinds: Readonly<Record<string, Pick<KeyKind, 'open'>>> = KEY_KINDS,
): Promise<Work> {
  const { jobs, log, pool } = kernel
  const answered = <T>(work: () => Promise<T>) => whenDatabaseAnswers(kernel, signal, work)
  // A signer of another installation ends here, before it records anything about this database.
  const tagKeys = await answered(() => requireTagKeys(log, kernel.config.tagKeys))
  const keys = await openKeystore(kernel)
  const factsOf = composeRecordedWallets(kernel)
  const { seeds, problem } = await answered(() => openKnownSeeds(kernel, keys, factsOf))
  const restores = composeWatchRestores(kernel)
  await requireWholeLog(restores)
  await answered(() => warnOfMissingFile(kernel))
  const hd = createHdSigner({ seeds })
  const held: Record<string, HeldKeys> = {}
  for (const [kind, { open }] of Object.entries(kinds)) {
    const opened = open === undefined ? null : await answered(() => open(kernel, keys))
    if (opened !== null) held[kind] = opened
  }
  const signer = signerByKind({ ...mapValues(held, (each) => each.signer), hd })
  const walletOf = createSigningWalletOf(factsOf)
  await answered(() => adoptTagKey(log, tagKeys))
  const times = await answered(() => startLogClock(kernel, signal))
  const checkRequests = composeCheckRequests(kernel, {
    ...{ counts: true, times },
    onMismatches: (requests) => kernel.metrics.count('bursar_policy_mismatches_total', {}, requests),
  })
  const check = composeCheckRecorded(kernel, walletOf, tagKeys, checkRequests)
  const problemOf: SigningNeeds['problemOf'] = (name, problem) => telling(kernel, name, problem(checkRequests))
  const ctx = laneContext(kernel, { signer, check, keys: tagKeys, restores })
  const pass = (lane: Lane, lease: Fence) => signLane(ctx, lane, lease)
  const endings = Object.values(held).map(({ start }) => start(signal))
  const making = {
    ...{ pool, log, signer: hd, inTurn: createInTurn() },
    restores: async () => (await restores.current()).restores,
    draw: () => randomInt(DRAWS) / DRAWS,
  }
  const makers = {
    ...mapValues(held, ({ makeKey }) => makeKey),
    hd: (walletId: string) => makeHdWallet(making, walletId),
  }
  const handlers = {
    wallet: ({ wallet_id }) => makeKey({ log, factsOf }, makers, wallet_id ?? ''),
  } satisfies Record<string, JobHandler>
  const workers = [
    workOnLanes(kernel, { queue: 'lane', pass }),
    workOnLanes(kernel, {
      queue: 'mpc-lane',
      pass,
      atOnce: MPC_SIGNATURES_AT_ONCE,
      ofTenant: MPC_SIGNATURES_OF_TENANT,
    }),
    jobs.process('wallet', handlers.wallet, { concurrency: WALLETS_AT_ONCE }),
    jobs.process('mpc-wallet', handlers.wallet, { concurrency: MPC_KEYS_AT_ONCE }),
    ...handleSigning(
      jobs,
      { pool, log, signer, walletOf, problemOf },
      { ...kernel, factsOf, loadSeed: seeds.load, problemOf },
    ),
  ]
  return {
    problem,
    async drain() {
      await Promise.all([...workers.map((worker) => worker.close()), ...endings.map((end) => end())])
      await Promise.all(Object.values(held).map(({ close }) => close()))
    },
  }
}

/** What the signer has for its lanes. */
function laneContext(
  kernel: Kernel,
  made: Pick<LaneContext, 'signer' | 'check' | 'keys'> & { readonly restores: WatchRestores },
): LaneContext {
  const { pool, chainOf, logger } = kernel
  const { keys, restores } = made
  const held = createHeldLanes(pool, (error) => logger.warn({ err: error }, 'cannot record why a lane waits'))
  const outside = createOutsideReads(pool)
  return {
    ...kernel,
    ...made,
    lanes: createLaneReads(pool),
    laneChainOf: composeLaneChains(kernel),
    compare: held.comparing((onHeld) =>
      createCompareLane({
        ...kernel,
        ...restores,
        keys,
        outside,
        now: () => performance.now(),
        ...tellingOfLanes(kernel, onHeld),
      }),
    ),
    leftAlone: held.leftAlone,
    deferred: createDeferred(() => performance.now()),
    async countOf(lane) {
      const { cursor: block } = await outside.knowledge(lane)
      const asked = { address: lane.address, block, isFirst: false }
      return (await countsNow(chainOf(lane.chainId).client, asked)).agreed
    },
    onRefused: refusing(kernel),
    onUnstorable: reportUnstorable(kernel),
  }
}

/** The signer's logs and metrics. @param record called for what is held too */
function tellingOfLanes({ chainOf, logger, metrics }: Kernel, record: LaneReports['onHeld']): LaneReports {
  const fields = (chainId: number, address: string) => ({ network: chainOf(chainId).settings.network, address })
  return {
    onHeld(lane, cause) {
      const { chainId, address } = lane
      record(lane, cause)
      metrics.count('bursar_lane_held_total', { network: chainOf(chainId).settings.network })
      logger.error(
        { ...fields(chainId, address), reason: heldText(cause) },
        'lane held: the chain has transactions that the event log does not have; see npm run bursar -- stuck',
      )
    },
    onRecovered({ chainId, address }, transactionId, { nonce, hash }) {
      metrics.count('bursar_recovered_total', { network: chainOf(chainId).settings.network })
      logger.warn(
        { ...fields(chainId, address), transaction_id: transactionId, nonce, hash },
        'found a signed transaction on chain that was missing in the event log',
      )
    },
  }
}

/** What a lane uses of its chain. All lanes of a chain share what is remembered of the gas of tokens. */
function composeLaneChains({ pool, chainOf }: Kernel) {
  const observedBlock = createObservedBlock(pool)
  return onceEach((chainId: number): LaneChain => {
    const { settings, agreed, foreign, code, fees, forks, exists } = chainOf(chainId)
    const observed = (address: string) => observedBlock({ chainId, address })
    const plainGas = createPlainGas({ agreed, forks, exists })
    const estimateGas = createEstimateGas(foreign, code, plainGas, observed)
    return {
      settings,
      quote: fees.quote,
      gasRules: forks.rules,
      forkSince: async () => (await forks.status()).since,
      estimateGas,
      neededGas: createNeededGas({ forks, estimateGas }),
      emptyGas: (address) => emptyTransferGas(plainGas, address),
      observedBlock: observed,
      refusedByToken: createRefusedByToken(foreign),
      kinds: KINDS,
    }
  })
}

/** Nothing is lost: a refused transaction waits, and is checked again with every pass over its lane. */
function refusing({ logger, metrics }: Kernel): (transactionId: string, reason: string) => void {
  return (transactionId, reason) => {
    metrics.count('bursar_signer_refused_total', {})
    logger.error({ transaction_id: transactionId, reason }, 'transaction does not match the event log; not signed')
  }
}

/** Reports what the policy of the log forbids. The job fails then, and is tried again. */
function telling<Recorded extends { readonly id: string }, Rest extends readonly unknown[]>(
  { logger, metrics }: Kernel,
  name: string,
  problemOf: (recorded: Recorded, ...rest: Rest) => Promise<string | null>,
): typeof problemOf {
  return async (recorded, ...rest) => {
    const reason = await problemOf(recorded, ...rest)
    if (reason !== null) {
      metrics.count('bursar_signer_refused_total', {})
      logger.error({ [name]: recorded.id, reason }, 'request does not match the event log; not signed')
    }
    return reason
  }
}
