/** The operator commands: what is stuck, lanes, queues, the history of a transaction; and what an operator decides. */
import { countObservedFrom } from '../activity/count-observed.ts'
import { readHeaders } from '../chain/blocks.ts'
import { settingPrefix } from '../config/chains.ts'
import { CATALOGUE } from '../declarations.ts'
import { readDatabaseFacts } from '../event-log/database-facts.ts'
import { acceptReorg, countUndone, readRefused } from '../follower/finality.ts'
import { acceptReorgCommand } from '../operator/accept-reorg-command.ts'
import { operatorCommands } from '../operator/commands.ts'
import type { FindingSource, InHelp } from '../operator/for-operators.ts'
import type { OperatorContext } from '../operator/operator-context.ts'
import { reconcileCommand } from '../operator/reconcile-command.ts'
import { findUnsound } from '../operator/stuck/find-unsound.ts'
import { createCompareLane } from '../transactions/compare-lane.ts'
import { judgeLookalike } from '../transactions/judge-lookalike.ts'
import { createLaneReads } from '../transactions/lanes.ts'
import { createOutsideReads } from '../transactions/outside.ts'
import { findUnminedLanes, reconcileLane, withLane } from '../transactions/reconcile-lanes.ts'
import { requireTagKeys } from '../transactions/tag-key.ts'
import { createSigningWalletOf } from '../wallets/signing-wallet.ts'
import { EXPLAINED, KEY_KINDS, RELAYED, WORK } from './capabilities.ts'
import { composeCheckRecorded } from './check-recorded.ts'
import { composeCheckRequests } from './check-requests.ts'
import type { Kernel } from './kernel.ts'
import { composeRecordedWallets } from './recorded-wallets.ts'
import { composeWatchRestores } from './restores.ts'
import { withKernel } from './run-command.ts'

/** @param findings what capabilities let `stuck` find */
export function composeOperator(env: NodeJS.ProcessEnv, findings: readonly FindingSource[]): readonly InHelp[] {
  const changing = [
    reconcileCommand((task) =>
      withKernel(env, (kernel) => {
        const { log, leases, chainOf } = kernel
        const ctx = comparing(kernel)
        const judging: Parameters<typeof judgeLookalike>[0] = {
          log,
          clientOf: (chainId) => chainOf(chainId).client,
          withLane: (lane, task) => withLane(leases, lane, task),
        }
        return task({
          find: (only) => findUnminedLanes(kernel, only),
          reconcile: (lane) => reconcileLane(ctx, lane),
          judge: (...judged) => judgeLookalike(judging, ...judged),
          chains: operatorChains(kernel),
        })
      }),
    ),
    acceptReorgCommand((task) =>
      withKernel(env, (kernel) => {
        const { pool, log, chainOf } = kernel
        return task({
          chains: operatorChains(kernel),
          refusedOn: (chainId) => readRefused(pool, chainId),
          transactionsFrom: (chainId, block) => countUndone(pool, chainId, block),
          transfersFrom: (chainId, block) => countObservedFrom(pool, chainId, block),
          hashesAt: (chainId, block) =>
            Promise.all(
              chainOf(chainId)
                .client.nodes()
                .map(async (node) => (await readHeaders(node, [block]).catch(() => []))[0]?.hash ?? null),
            ),
          accept: (...accepted) => acceptReorg(log, ...accepted),
        })
      }),
    ),
  ]
  return [
    ...operatorCommands(
      (task) => withKernel(env, (kernel) => task(operatorPorts(kernel, findings)), { reports: true }),
      CATALOGUE.findings,
    ),
    ...changing.map((command) => ({ place: 40, command })),
  ]
}

/** What lanes are compared with, as a signer does it. */
function comparing(kernel: Kernel): Parameters<typeof reconcileLane>[0] {
  const { config, pool, log, leases } = kernel
  return {
    leases,
    lanes: createLaneReads(pool),
    compareWith: async (told) =>
      createCompareLane({
        ...kernel,
        ...composeWatchRestores(kernel),
        keys: await requireTagKeys(log, config.tagKeys),
        outside: createOutsideReads(pool),
        now: () => performance.now(),
        ...told,
      }),
  }
}

function operatorChains({ chains }: Kernel): OperatorContext['chains'] {
  return chains.all.map(({ settings, agreed }) => ({
    settings,
    client: agreed,
    capSetting: `${settingPrefix(settings)}MAX_FEE_PER_GAS_WEI`,
    urlsSetting: `${settingPrefix(settings)}RPC_URLS`,
    relayed:
      settings.relayUrls === undefined || RELAYED === null
        ? null
        : { noun: RELAYED.noun, setting: `${settingPrefix(settings)}${RELAYED.setting}` },
  }))
}

function operatorPorts(kernel: Kernel, findings: readonly FindingSource[]): OperatorContext {
  const { config, pool, log, jobs, clock } = kernel
  const walletOf = createSigningWalletOf(composeRecordedWallets(kernel))
  const checkRecorded = composeCheckRecorded(kernel, walletOf, null, composeCheckRequests(kernel, { counts: true }))
  return {
    pool,
    log,
    jobs,
    clock,
    queueBackend: config.redisUrl === null ? 'PostgreSQL' : 'Redis',
    chains: operatorChains(kernel),
    sources: WORK.map(({ name, findQuiet }) => ({
      name,
      find: (before: Date, limit: number) => findQuiet(pool, before, limit),
    })),
    explained: EXPLAINED,
    readDatabase: () => readDatabaseFacts(pool),
    findUnsound: () => findUnsound(pool, checkRecorded),
    findings,
    parties: Object.values(KEY_KINDS).flatMap(({ parties }) => parties?.(config) ?? []),
    config,
  }
}
