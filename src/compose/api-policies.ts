/** The routes of policies, and their dependencies. */
import { findHolders } from '../access/find-holders.ts'
import { Conflict } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import type { Routes } from '../http/request.ts'
import { createHasOpened } from '../policies/has-opened.ts'
import { createManagePolicies } from '../policies/manage-policies.ts'
import { type PastRoutePorts, pastRoutes } from '../policies/past-routes.ts'
import { createPolicyReads, type PolicyReads } from '../policies/read-policies.ts'
import { readSentPolicy } from '../policies/read-policy.ts'
import { policyRoutes } from '../policies/routes.ts'
import { runBacktest } from '../policies/run-backtest.ts'
import type { ComposedApi } from './api-context.ts'
import type { OwnSwapPorts } from './api-swaps.ts'
import { PAST } from './capabilities.ts'
import { assetOfOwner } from './policy-assets.ts'
import { composeSimulation } from './policy-simulation.ts'

export function composePolicyRoutes(ctx: ComposedApi, swaps: OwnSwapPorts): readonly Routes[] {
  const { pool, log, newId, clock, config, accept, policies } = ctx
  const assetOf = (owner: Owner, assetId: string) => assetOfOwner(ctx, owner, assetId)
  const reads = createPolicyReads(pool)
  const past = { pool, source: PAST, chains: config.chains }
  return [
    policyRoutes({
      manage: createManagePolicies({
        log,
        accept,
        newId,
        hasOpened: createHasOpened(past),
        assetOf,
        publishersOf: (owner: Owner) => findHolders(pool, owner, 'policies:publish'),
        forget: policies.inForce.forget,
      }),
      reads,
    }),
    pastRoutes({
      ...composeSimulation(ctx, swaps),
      policyOf: createPolicyOf(reads, assetOf),
      backtest: (...test) => runBacktest(past, ...test),
      clock,
    }),
  ]
}

function createPolicyOf(
  reads: PolicyReads,
  assetOf: (owner: Owner, assetId: string) => ReturnType<typeof assetOfOwner>,
): PastRoutePorts['policyOf'] {
  return async (owner, { policy, revision, version }) => {
    if (policy !== undefined) return readSentPolicy(policy, (assetId) => assetOf(owner, assetId))
    if (version !== undefined) return reads.policy(owner, version)
    const { draft } = await reads.read(owner)
    if (draft?.revision === revision) return reads.policy(owner, 'draft')
    const message = `The draft has the revision ${draft?.revision ?? 0}: read it again with GET /v1/policies.`
    throw new Conflict('policy_changed', message, { revision: draft?.revision ?? 0 })
  }
}
