/** The contract as its users call it, and every way to call it wrongly, on one running sandbox. */
import t from 'tap'
import { startSandbox } from '../support/e2e-sandbox.ts'
import { checkAccess } from './checks/access.ts'
import { checkContractRows } from './checks/contract-rows.ts'
import { checkCrowd } from './checks/crowd.ts'
import { checkHostile } from './checks/hostile.ts'
import { checkIdempotentRoutes } from './checks/idempotent-routes.ts'
import { checkMpc } from './checks/mpc.ts'
import { checkNft } from './checks/nft.ts'
import { checkVouchers } from './checks/nft-vouchers.ts'
import { checkOnce } from './checks/once.ts'
import { checkReference } from './checks/reference.ts'
import { checkRefusals } from './checks/refusals.ts'
import { checkSigning } from './checks/signing.ts'
import { checkTransfers } from './checks/transfers.ts'
import { checkWallets } from './checks/wallets.ts'

const sandbox = await startSandbox(t)

t.test('the rows of the contract', (t) => checkContractRows(t, sandbox))
t.test('wallets', (t) => checkWallets(t, sandbox))
t.test('transfers', (t) => checkTransfers(t, sandbox))
t.test('signatures', (t) => checkSigning(t, sandbox))
t.test('mpc wallets', (t) => checkMpc(t, sandbox))
t.test('collections and mints', (t) => checkNft(t, sandbox))
t.test('vouchers, and tokens that change', (t) => checkVouchers(t, sandbox))
t.test('idempotency', (t) => checkOnce(t, sandbox))
t.test('every route that takes an Idempotency-Key', (t) => checkIdempotentRoutes(t, sandbox))
t.test('access', (t) => checkAccess(t, sandbox))
t.test('refusals', (t) => checkRefusals(t, sandbox))
t.test('crowds', (t) => checkCrowd(t, sandbox))
t.test('the reference', (t) => checkReference(t, sandbox))
t.test('hostile input', (t) => checkHostile(t, sandbox))
