/**
 * Whether hosted routes can be used on a chain: its guard and its executor must have their code. It is read before each
 * use; `/readyz` says what is missing.
 */
import type { ChainClient } from '../chain/client-set.ts'
import { readGuardProblem } from '../chain/swap-guard.ts'
import { BursarError } from '../core/errors.ts'

export type GuardPorts = {
  /** The chains on which a hosted source may be used. */
  readonly chains: readonly Pick<ChainClient, 'client' | 'settings'>[]
  /** A clock, ms. */
  readonly now: () => number
}

export type Guards = {
  /** Reads the code of the chain. Never throws: a guard that cannot be read is none. */
  readonly hasGuard: (chainId: number) => Promise<boolean>
  /** One line for the chains without a guard, as they are or were a moment ago; `null` when there is none. */
  readonly problem: () => Promise<string | null>
}

/** Anybody may ask for `/readyz`. */
const READ_AGAIN_MS = 5_000

type Read = { readonly problem: string | null; readonly at: number }

export function createGuards({ chains, now }: GuardPorts): Guards {
  const known = new Map<number, Read>()

  async function read({ client, settings }: GuardPorts['chains'][number]): Promise<Read> {
    const problem = await readGuardProblem(client).catch((error: unknown) => {
      if (!(error instanceof BursarError)) throw error
      return `the code of the swap guard cannot be read: ${error.message}`
    })
    const answer = { problem, at: now() }
    known.set(settings.chainId, answer)
    return answer
  }

  return {
    async hasGuard(chainId) {
      const chain = chains.find(({ settings }) => settings.chainId === chainId)
      return chain !== undefined && (await read(chain)).problem === null
    },
    async problem() {
      const lines = await Promise.all(
        chains.map(async (chain) => {
          const { network, environment, chainId } = chain.settings
          const last = known.get(chainId)
          const { problem } = last !== undefined && last.at > now() - READ_AGAIN_MS ? last : await read(chain)
          return problem === null ? [] : [`${network} (${environment}): ${problem}`]
        }),
      )
      const problems = lines.flat()
      return problems.length === 0 ? null : `hosted quotes are off: ${problems.join('; ')}`
    },
  }
}
