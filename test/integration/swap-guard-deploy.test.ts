/** The command that deploys the guard of swaps: paid by a named wallet, once on each chain. */
import { keccak256 } from 'ethers/crypto'
import t from 'tap'
import { DEPLOYMENT_PROXY } from '../../src/chain/deployment-proxy.ts'
import { createApiContext } from '../../src/compose/api-context.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { EXECUTOR_ADDRESS, GUARD_ADDRESS, readGuardProblem } from '../../src/swaps/contracts/guard.ts'
import { deployGuardCommand } from '../../src/swaps/guard-command.ts'
import { runCommandLine } from '../support/cli.ts'
import type { LoadWallet } from '../support/load.ts'
import { withStage } from '../support/service-stage.ts'

t.test('the command deploys the guard and its executor once, paid by a wallet', async (t) => {
  const stage = await withStage(t)
  const { service, rpc, settle, read } = stage
  const [wallet, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  // With the database login of commands.
  const kernel: Kernel = composeKernel({ ...service.kernel.config, databaseUrl: service.urlAs('operator') }, 'command')
  t.after(() => kernel.close())
  const ctx = createApiContext(kernel)
  const run = (walletId: string) =>
    runCommandLine([deployGuardCommand((task) => task(ctx))], `swap deploy-guard ${walletId} --json`)

  const [{ settings, client }] = kernel.chains.all as [Kernel['chains']['all'][number]]
  t.equal(await readGuardProblem(client), `the swap guard is not deployed at ${GUARD_ADDRESS}`)
  t.match(await run('wal_none'), { code: 2, out: '', err: 'The wallet wal_none does not exist.\n' })
  const proxy = await rpc('eth_getCode', DEPLOYMENT_PROXY, 'latest')
  await rpc('anvil_setCode', DEPLOYMENT_PROXY, '0x')
  t.match(await run(wallet.id), { code: 1, err: /does not have the deterministic deployment proxy/ })
  await rpc('anvil_setCode', DEPLOYMENT_PROXY, proxy)

  const first = JSON.parse((await run(wallet.id)).out)
  t.match(first, { network: 'ethereum', chain_id: settings.chainId, guard: GUARD_ADDRESS, executor: EXECUTOR_ADDRESS })
  t.equal(
    JSON.parse((await run(other.id)).out).transaction_id,
    first.transaction_id,
    'one that is under way is not repeated',
  )
  await settle()
  t.match(await read(wallet, first.transaction_id), {
    type: 'SWAP_GUARD_DEPLOY',
    state: 'confirmed',
    to: DEPLOYMENT_PROXY,
  })
  const { gasUsed } = (await rpc('eth_getTransactionReceipt', (await read(wallet, first.transaction_id)).hash)) as never
  t.comment(`${Number(gasUsed)} gas`)
  const code = (await rpc('eth_getCode', GUARD_ADDRESS, 'latest')) as string
  t.equal(await readGuardProblem(client), null, `both codes are as compiled: ${keccak256(code)}`)
  t.match(JSON.parse((await run(other.id)).out), { transaction_id: null }, 'a chain that has them needs nothing')
})
