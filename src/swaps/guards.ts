/**
 * Whether hosted routes can be used on a chain: its guard and its executor must have their code. It is read before each
 * use; `/readyz` says what is missing.
 */
import type { ChainClient } from '../chain/client-set.ts'
import { BursarError } from '../core/errors.ts'
import { readGuardProblem } from './contracts/guard.ts'

type Chain = Pick<ChainClient, 'agreed' | 'settings'>

/** Never throws: a guard that cannot be read is none. @param chains on which a hosted source may be used */
export async function hasGuard(chains: readonly Chain[], chainId: number): Promise<boolean> {
  const chain = chains.find(({ settings }) => settings.chainId === chainId)
  return chain !== undefined && (await problemOf(chain)) === null
}

/** One line for all chains without a guard; `null` when there is none. */
export async function findGuardProblem(chains: readonly Chain[]): Promise<string | null> {
  const problems = await Promise.all(
    chains.map(async (chain) => {
      const problem = await problemOf(chain)
      return problem === null ? [] : [`${chain.settings.network} (${chain.settings.environment}): ${problem}`]
    }),
  )
  return problems.flat().length === 0 ? null : `hosted quotes are off: ${problems.flat().join('; ')}`
}

async function problemOf({ agreed }: Chain): Promise<string | null> {
  try {
    return await readGuardProblem(agreed)
  } catch (error) {
    if (!(error instanceof BursarError)) throw error
    return `the code of the swap guard cannot be read: ${error.message}`
  }
}
