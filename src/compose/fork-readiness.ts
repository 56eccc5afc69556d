/** What `/readyz` says about the forks of the chains: the rules that each runs, and a warning where they are unknown. */
import type { ReadinessCheck } from '../http/health.ts'
import { chainName } from '../operator/words.ts'
import type { Kernel } from './kernel.ts'

export function forkChecks({ chains }: Pick<Kernel, 'chains'>): ReadinessCheck[] {
  return chains.all.map(({ settings, forks }) => ({
    name: `fork:${chainName(settings)}`,
    check: async () => undefined,
    state: async () => (await forks.status()).fork,
    async warning() {
      const { problem, source } = await forks.status()
      return problem === null || source === 'nothing'
        ? null
        : `${problem}: gas is held as nodes estimate it; update Bursar`
    },
  }))
}
