/** The service with a hosted source whose offers are better than its own exchange. */
import type { Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import type { Kernel } from '../../src/compose/kernel.ts'
import type { ExchangeChain } from './exchanges.ts'
import { type HonestAnswer, type HostedServer, withHostedSource } from './hosted-source.ts'
import { eventually } from './sandbox-eventually.ts'
import { compileSolidity, contractIn } from './solidity.ts'
import { type SwapServiceOptions, withSwapService } from './swap-service.ts'
import { ALICE, mined } from './swap-stage.ts'

export const AGGREGATOR = contractIn(compileSolidity('Aggregator.sol'), 'Aggregator')

/** A service whose own exchange is the V2 one: the source offers the better V3 pool. */
export async function withSource(t: Test, { before }: Pick<SwapServiceOptions, 'before'> = {}) {
  let source: HostedServer | undefined
  let aggregator = ''
  const envOf = async (chain: ExchangeChain) => {
    source = await withHostedSource(t, chain)
    const { contractAddress } = await mined(chain.url, { from: ALICE, data: AGGREGATOR.bytecode })
    aggregator = toChecksumAddress(contractAddress ?? '')
    const pins = `${chain.exchanges.swapRouter},${aggregator}`
    return {
      ETHEREUM_SWAP_VENUES: `uniswap-v2:v2:${chain.exchanges.v2Router}`,
      SWAP_API_URL: source.url,
      SWAP_API_KEY: source.key,
      ETHEREUM_SWAP_API_TARGETS: pins,
      ETHEREUM_SWAP_API_SPENDERS: pins,
    }
  }
  const kernels: Kernel[] = []
  const stage = await withSwapService(t, {
    envOf,
    onKernel: (kernel) => void kernels.push(kernel),
    ...(before === undefined ? {} : { before }),
  })
  if (source === undefined) throw new Error('the settings of the service name the source')
  /** A quote that has the offer of the source: on a slow machine, an answer may come too late. */
  const taken = (body: object) =>
    eventually(async () => {
      const quote = await stage.quote(body)
      return quote.route[0].protocol === '0x' && quote
    })
  return { ...stage, source, aggregator, taken, counts: () => countsOf(kernels) }
}

/** How often each outcome was counted. */
async function countsOf(kernels: readonly Kernel[]): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { metrics } of kernels) {
    const { values } = (await metrics.registry.getSingleMetric('bursar_swap_source_answers_total')?.get()) ?? {}
    for (const { labels, value } of values ?? []) {
      const outcome = String(labels.outcome)
      counts.set(outcome, (counts.get(outcome) ?? 0) + value)
    }
  }
  return counts
}

/** The same swap, with other call data. */
export function withData(answer: HonestAnswer, change: Partial<HonestAnswer['transaction']>): HonestAnswer {
  return { ...answer, transaction: { ...answer.transaction, ...change } }
}
