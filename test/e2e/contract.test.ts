/** The contract as its users call it, and every way to call it wrongly, on one running sandbox. */
import t from 'tap'
import { startSandbox } from '../support/e2e-sandbox.ts'
import { checkAccess } from './checks/access.ts'
import { checkContractCalls } from './checks/contract-calls.ts'
import { checkContractRows } from './checks/contract-rows.ts'
import { checkCrowd } from './checks/crowd.ts'
import { checkHostile } from './checks/hostile.ts'
import { checkIdempotentRoutes } from './checks/idempotent-routes.ts'
import { checkKeyLimits } from './checks/key-limits.ts'
import { checkMpc } from './checks/mpc.ts'
import { checkNft } from './checks/nft.ts'
import { checkVoucherRaces } from './checks/nft-races.ts'
import { checkVouchers } from './checks/nft-vouchers.ts'
import { checkOnce } from './checks/once.ts'
import { checkPolicies } from './checks/policies.ts'
import { checkReference } from './checks/reference.ts'
import { checkRefusals } from './checks/refusals.ts'
import { checkSigning } from './checks/signing.ts'
import { checkSwaps } from './checks/swaps.ts'
import { checkTransfers } from './checks/transfers.ts'
import { checkWallets } from './checks/wallets.ts'

const sandbox = await startSandbox(t)

const CHECKS = {
  rows: ['the rows of the contract', checkContractRows],
  wallets: ['wallets', checkWallets],
  transfers: ['transfers', checkTransfers],
  calls: ['contract calls', checkContractCalls],
  signatures: ['signatures', checkSigning],
  mpc: ['mpc wallets', checkMpc],
  nft: ['collections and mints', checkNft],
  vouchers: ['vouchers, and tokens that change', checkVouchers],
  races: ['races for a voucher', checkVoucherRaces],
  swaps: ['swaps', checkSwaps],
  once: ['idempotency', checkOnce],
  idempotent: ['every route that takes an Idempotency-Key', checkIdempotentRoutes],
  access: ['access', checkAccess],
  'key-limits': ['API keys with limits', checkKeyLimits],
  policies: ['policies', checkPolicies],
  refusals: ['refusals', checkRefusals],
  crowd: ['crowds', checkCrowd],
  reference: ['the reference', checkReference],
  hostile: ['hostile input', checkHostile],
} as const
/** For real nodes: the others do not depend on the node, or hold back blocks, which only the sandbox's own chains can. */
const SETS: Readonly<Record<string, readonly string[]>> = {
  'on-nodes': ['rows', 'calls', 'mpc', 'nft', 'vouchers', 'swaps', 'signatures'],
  'on-one-node': ['rows', 'calls', 'nft', 'swaps'],
}
/** CONTRACT_CHECKS=rows,wallets runs these alone, and CONTRACT_CHECKS=on-nodes that set. */
const selected = process.env.CONTRACT_CHECKS?.split(',').flatMap((name) => SETS[name] ?? name) ?? Object.keys(CHECKS)

for (const [name, [title, check]] of Object.entries(CHECKS))
  if (selected.includes(name)) t.test(title, (t) => check(t, sandbox))
