/**
 * The signer process: the only one that holds whole keys, and the coordinator of the parties that hold shares. Creates
 * wallets' keys; signs transactions of lanes, vouchers, messages and typed data; seals keys for export.
 */
import { randomInt } from 'node:crypto'
import { countsNow } from '../chain/transaction-counts.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { createHdSigner } from '../keys/hd.ts'
import type { Signer } from '../keys/signer.ts'
import { signerByKind } from '../keys/signer-by-kind.ts'
import { sealExport } from '../recovery/seal-export.ts'
import type { WatchRestores } from '../restores/watch-restores.ts'
import type { CheckRecorded } from '../transactions/check-recorded.ts'
import { shownReason } from '../transactions/deferred.ts'
import { createEstimateGas } from '../transactions/estimate-gas.ts'
import { createFillGaps } from '../transactions/fill-gaps.ts'
import { createHeldLanes } from '../transactions/held-lanes.ts'
import { createLaneReads } from '../transactions/lanes.ts'
import { createNeededGas, type NeededGas } from '../transactions/needed-gas.ts'
import { createObservedBlock } from '../transactions/observed-block.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import { createEmptyGas, createPlainGas } from '../transactions/plain-gas.ts'
import { createRefusedByToken } from '../transactions/refused-by-token.ts'
import { createReplaceInLane } from '../transactions/replace-in-lane.ts'
import { createSignLane, type LaneChain } from '../transactions/sign-lane.ts'
import { adoptTagKey, requireTagKeys } from '../transactions/tag-key.ts'
import type { TagKeys } from '../transactions/tags.ts'
import { createMakeHdWallet } from '../wallets/make-hd-wallet.ts'
import { makeKey } from '../wallets/make-key.ts'
import { createSigningWalletOf } from '../wallets/signing-wallet.ts'
import { handleSigning } from './capabilities.ts'
import { whenDatabaseAnswers } from './check-database.ts'
import { composeCheckRecorded } from './check-recorded.ts'
import { composeCheckRequests, startLogClock } from './check-requests.ts'
import { composeCompareLane, tellingOfLanes } from './compare-lane.ts'
import type { Kernel } from './kernel.ts'
import { openKnownSeeds } from './known-seeds.ts'
import { workOnLanes } from './lanes.ts'
import { openCoordinator } from './mpc-channel.ts'
import { startMpcKeys } from './mpc-keys.ts'
import { newId } from './new-id.ts'
import { openKeystore } from './open-keystore.ts'
import { exportProblem, signatureProblem, voucherProblem } from './policy-problems.ts'
import { composeRecordedWallets } from './recorded-wallets.ts'
import { reportUnstorable } from './report-unstorable.ts'
import { composeWatchRestores, requireWholeLog, warnOfMissingFile } from './restores.ts'
import type { Work } from './run-process.ts'

const WALLETS_AT_ONCE = 8
const EXPORTS_AT_ONCE = 2
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
 * @param coordinate connects to the parties of joint keys; `null` without parties: mpc wallets then wait for their keys
 */
export async function startSigner(
  kernel: Kernel,
  signal: AbortSignal,
  coordinate: typeof openCoordinator = openCoordinator,
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
  const mpc = await answered(() => coordinate(kernel, keys))
  const signer = signerByKind(mpc === null ? { hd } : { hd, mpc: mpc.signer })
  const walletOf = createSigningWalletOf(factsOf)
  await answered(() => adoptTagKey(log, tagKeys))
  const times = await answered(() => startLogClock(kernel, signal))
  const checkRequests = composeCheckRequests(kernel, {
    ...{ counts: true, times },
    onMismatches: kernel.metrics.countPolicyMismatches,
  })
  const check = composeCheckRecorded(kernel, walletOf, tagKeys, checkRequests)
  const problems = {
    signature: telling(kernel, 'signature_id', signatureProblem(checkRequests)),
    voucher: telling(kernel, 'mint_id', voucherProblem(checkRequests)),
  }
  const signLane = composeLane(kernel, { signer, check, keys: tagKeys, restores })
  const mpcKeys = mpc && startMpcKeys(kernel, mpc, signal)
  const makers = {
    hd: createMakeHdWallet({
      pool,
      log,
      signer: hd,
      restores: async () => (await restores.current()).restores,
      draw: () => randomInt(DRAWS) / DRAWS,
    }),
    mpc: mpcKeys?.makeMpcWallet ?? null,
  }
  const sealing = {
    ...kernel,
    loadSeed: seeds.load,
    walletOf: factsOf,
    problemOf: telling(kernel, 'export_id', exportProblem(checkRequests)),
  }
  const handlers = {
    wallet: ({ wallet_id }) => makeKey(kernel, makers, wallet_id ?? ''),
  } satisfies Record<string, JobHandler>
  const workers = [
    workOnLanes(kernel, { queue: 'lane', pass: signLane }),
    workOnLanes(kernel, {
      queue: 'mpc-lane',
      pass: signLane,
      atOnce: MPC_SIGNATURES_AT_ONCE,
      ofTenant: MPC_SIGNATURES_OF_TENANT,
    }),
    jobs.process('wallet', handlers.wallet, { concurrency: WALLETS_AT_ONCE }),
    jobs.process('mpc-wallet', handlers.wallet, { concurrency: MPC_KEYS_AT_ONCE }),
    jobs.process('export', ({ export_id }) => sealExport(sealing, export_id ?? ''), { concurrency: EXPORTS_AT_ONCE }),
    ...handleSigning(jobs, { pool, log, signer, walletOf, problems }),
  ]
  return {
    problem,
    async drain() {
      await Promise.all([...workers.map((worker) => worker.close()), mpcKeys?.drain()])
      await mpc?.close()
    },
  }
}

type LaneParts = {
  readonly signer: Signer
  readonly check: CheckRecorded
  readonly keys: TagKeys
  readonly restores: WatchRestores
}

function composeLane(kernel: Kernel, { signer, check, keys, restores }: LaneParts) {
  const { config, pool, log, clock, chainOf, logger, metrics } = kernel
  const lanes = createLaneReads(pool)
  const held = createHeldLanes(pool, (error) => logger.warn({ err: error }, 'cannot record why a lane waits'))
  const shared = { log, lanes, signer, check, clock, keys, onRefused: refusing(kernel) }
  const { knowledge } = createOutsideReads(pool)
  const laneChainOf = composeLaneChains(kernel)
  const emptyGas = createEmptyGas(chainOf)
  const replace = createReplaceInLane({
    ...shared,
    neededGas: (transaction) => laneChainOf(transaction.intent.chainId).neededGas(transaction),
    quoteOf: (chainId) => chainOf(chainId).fees.quote(),
    capOf: (chainId) => chainOf(chainId).settings.maxFeePerGasWei,
    emptyGas,
    onCapReached: (transactionId) =>
      logger.warn(
        { transaction_id: transactionId },
        'cannot bump the fee of a stuck transaction: the fee cap is reached; raise the cap',
      ),
    onFundsReached: (transactionId) =>
      logger.warn(
        { transaction_id: transactionId },
        'cannot bump the fee of a stuck transaction: the balance of the wallet is too low',
      ),
  })
  return createSignLane({
    ...shared,
    replace,
    replaceAfterMs: config.replaceAfterMs,
    compare: held.comparing((onHeld) => composeCompareLane(kernel, keys, restores, tellingOfLanes(kernel, onHeld))),
    maxInFlight: config.maxInFlightPerLane,
    fillGaps: createFillGaps({
      log,
      lanes,
      newId,
      quoteOf: (chainId) => chainOf(chainId).fees.quote(),
      minTipOf: (chainId) => chainOf(chainId).settings.minTipWei,
      async nonceOf(lane) {
        const { cursor: block } = await knowledge(lane)
        const asked = { address: lane.address, block, isFirst: false }
        return (await countsNow(chainOf(lane.chainId).client, asked)).agreed
      },
      emptyGas,
      replaceAfterMs: config.replaceAfterMs,
      onFilled: ({ chainId, address }, nonces) =>
        logger.warn(
          { network: chainOf(chainId).settings.network, address, nonces },
          'no transaction uses these nonces; filling the gap with transfers of zero value',
        ),
    }),
    onSigned: (chainId, transactions) =>
      metrics.countSigned({ network: chainOf(chainId).settings.network, transactions }),
    onUnstorable: reportUnstorable(kernel),
    onNotSimulated(chainId, transactionId, unsimulated) {
      const { reason } = unsimulated
      notSimulated(kernel)(chainId, transactionId, reason)
      held.leftAlone({ kind: 'not_simulated', transactionId, reason }, shownReason(unsimulated))
    },
    chainOf: laneChainOf,
  })
}

/** What a lane uses of its chain. All lanes of a chain share what is remembered of the gas of tokens. */
function composeLaneChains({ pool, chainOf }: Kernel) {
  const observedBlock = createObservedBlock(pool)
  const chains = new Map<number, LaneChain & { readonly neededGas: NeededGas }>()
  return (chainId: number) => {
    const known = chains.get(chainId)
    if (known !== undefined) return known
    const { agreed, foreign, code, fees, forks, exists } = chainOf(chainId)
    const observed = (address: string) => observedBlock({ chainId, address })
    const estimateGas = createEstimateGas(foreign, code, createPlainGas({ agreed, forks, exists }), observed)
    const chain = {
      quote: fees.quote,
      gasRules: forks.rules,
      forkSince: async () => (await forks.status()).since,
      estimateGas,
      neededGas: createNeededGas({ forks, estimateGas }),
      observedBlock: observed,
      refusedByToken: createRefusedByToken(foreign),
    }
    chains.set(chainId, chain)
    return chain
  }
}

/** Nothing is lost: a refused transaction waits, and is checked again with every pass over its lane. */
function refusing({ logger, metrics }: Kernel): (transactionId: string, reason: string) => void {
  return (transactionId, reason) => {
    metrics.countRefusedToSign()
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
      metrics.countRefusedToSign()
      logger.error({ [name]: recorded.id, reason }, 'request does not match the event log; not signed')
    }
    return reason
  }
}

/** Nothing is lost: it is tried again with increasing pauses, and does not delay others. */
function notSimulated({ logger, metrics, chainOf }: Kernel): (chainId: number, id: string, reason: string) => void {
  return (chainId, id, reason) => {
    const { network } = chainOf(chainId).settings
    metrics.countNotSimulated(network)
    logger.warn({ network, transaction_id: id, reason }, 'cannot simulate a transaction; will retry')
  }
}
