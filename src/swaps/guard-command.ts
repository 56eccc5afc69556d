/** `swap deploy-guard`: the guard of hosted swaps on the chain of a wallet. */

import type { CliCommand, ExitCode, Within } from '../cli/command.ts'
import { EXECUTOR_ADDRESS, GUARD_ADDRESS } from './contracts/guard.ts'
import { deployGuard } from './deploy-guard.ts'

export function deployGuardCommand(within: Within<Parameters<typeof deployGuard>[0]>): CliCommand {
  return {
    name: 'swap deploy-guard',
    summary: 'deploy the guard of hosted swaps and its executor on the chain of a wallet, which pays the gas',
    details: `Once for each network, for all installations: the addresses follow from the code. Swaps by a hosted source (SWAP_API_URL) are off on a
network without them; /readyz says so. A deployment that is under way is not repeated. Nobody has audited these contracts.

JSON: {"network", "chain_id", "guard", "executor", "transaction_id"}; transaction_id is null if the chain has them.`,
    arguments: [{ name: '<wallet_id>', description: 'the wallet that pays' }],
    run: ({ arguments: [walletId = ''] }, io) =>
      within<ExitCode>(async (ctx) => {
        const { chainId, network, transactionId: id } = await deployGuard(ctx, walletId)
        const places = { guard: GUARD_ADDRESS, executor: EXECUTOR_ADDRESS }
        io.print(
          { network, chain_id: chainId, ...places, transaction_id: id },
          `guard     ${GUARD_ADDRESS}\nexecutor  ${EXECUTOR_ADDRESS}`,
        )
        io.note(
          id === null
            ? `${network} (chain ${chainId}) has them.`
            : `Deployed by ${id}: npm run bursar -- explain ${id}`,
        )
        return 0
      }),
  }
}
