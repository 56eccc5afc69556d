/** The routes of policies, and their dependencies. */
import { findHolders } from '../access/find-holders.ts'
import type { Owner } from '../core/tenants.ts'
import type { Routes } from '../http/request.ts'
import { createHasOpened } from '../policies/has-opened.ts'
import { createManagePolicies } from '../policies/manage-policies.ts'
import { createPolicyReads } from '../policies/read-policies.ts'
import { policyRoutes } from '../policies/routes.ts'
import type { ApiParts } from './api-parts.ts'
import { PAST } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { createAssetsOfPolicies } from './policy-assets.ts'

export function composePolicyRoutes(
  { pool, log, newId, chains, config }: Pick<Kernel, 'pool' | 'log' | 'newId' | 'chains' | 'config'>,
  { accept, books, policiesInForce }: Pick<ApiParts, 'accept' | 'books' | 'policiesInForce'>,
): Routes {
  return policyRoutes({
    manage: createManagePolicies({
      log,
      accept,
      newId,
      hasOpened: createHasOpened({ pool, source: PAST, chains: config.chains }),
      assetsOf: createAssetsOfPolicies({ pool, chains }, books),
      publishersOf: (owner: Owner) => findHolders(pool, owner, 'policies:publish'),
      forget: policiesInForce.forget,
    }),
    reads: createPolicyReads(pool),
  })
}
