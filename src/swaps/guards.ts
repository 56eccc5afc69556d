/**
 * Whether hosted routes can be used on a chain: its guard and its executor must have their code. It is read before each
 * use; `/readyz` says what is missing.
 */
import type { ChainClient } from '../chain/client-set.ts'
import { readGuardProblem } from '../chain/swap-guard.ts'
import { BursarError } from '../core/errors.ts'

type Chain = Pick<ChainClient, 'agreed' | 'settings'>

export type Guards = {
  /** Never throws: a guard that cannot be read is none. */
  readonly hasGuard: (chainId: number) => Promise<boolean>
  /** One line for all chains without a guard; `null` when there is none. */
  readonly problem: () => Promise<string | null>
}

/** @param chains on which a hosted source may be used */
export function createGuards(chains: readonly Chain[]): Guards {
  return {
    async hasGuard(chainId) {
      const chain = chains.find(({ settings }) => settings.chainId === chainId)
      return chain !== undefined && (await problemOf(chain)) === null
    },
    async problem() {
      const problems = await Promise.all(
        chains.map(async (chain) => {
          const problem = await problemOf(chain)
          return problem === null ? [] : [`${chain.settings.network} (${chain.settings.environment}): ${problem}`]
        }),
      )
      return problems.flat().length === 0 ? null : `hosted quotes are off: ${problems.flat().join('; ')}`
    },
  }
}

async function problemOf({ agreed }: Chain): Promise<string | null> {
  try {
    return await readGuardProblem(agreed)
  } catch (error) {
    if (!(error instanceof BursarError)) throw error
    return `the code of the swap guard cannot be read: ${error.message}`
  }
}
