/** `networks`: every configured chain with what its nodes say now: the newest block, and the fork whose rules it runs. */
import { type ForkStatus, readFork } from '../chain/fork-watch.ts'
import type { CliCommand, Within } from '../cli/command.ts'
import { shown } from '../cli/printed.ts'
import { type ChainNow, type OperatorChain, readChain } from './chain-now.ts'
import type { OperatorContext } from './operator-context.ts'

const HEAD = ['network', 'chain', 'block', 'confirmations', 'fork', 'read from', 'next fork']

type NetworkNow = { readonly chain: ChainNow; readonly status: ForkStatus | null }

export function networksCommand(within: Within<OperatorContext>): CliCommand {
  return {
    name: 'networks',
    summary: 'the configured networks: newest block, and the fork whose gas rules they run',
    details: `Reads only. fork: as the newest header, eth_config and an estimate of a node show it; unknown if they fit none that this
version knows: gas is then held as nodes estimate it. Exit code 0: no problem; 1: the fork of a network is unknown; 3: no node of a
network answers.

JSON: [{"network", "chain_id", "block", "confirmations", "fork", "source", "problem", "next_fork_at"}].`,
    run: (_input, io) =>
      within(async ({ chains }) => {
        const networks = await Promise.all(chains.map(readNetwork))
        io.print(networks.map(toJson), io.table(HEAD, shown(networks.map(toCells))))
        for (const { chain, status } of networks) {
          if (!chain.node.up) io.note(`No node of ${chain.name} answers: ${chain.node.why}.`)
          else if (status?.problem != null) io.note(`${chain.name}: ${status.problem}. Update Bursar.`)
        }
        if (networks.some(({ chain }) => !chain.node.up)) return 3
        return networks.some(({ status }) => status?.fork === 'unknown') ? 1 : 0
      }),
  }
}

async function readNetwork(chain: OperatorChain): Promise<NetworkNow> {
  const [now, status] = await Promise.all([readChain(chain), readFork(chain.client)])
  return { chain: now, status }
}

function toJson({ chain: { name, settings, node }, status }: NetworkNow) {
  return {
    network: name,
    chain_id: settings.chainId,
    block: node.up ? node.head : null,
    confirmations: settings.confirmations,
    fork: status?.fork ?? null,
    source: status?.source ?? null,
    problem: status?.problem ?? null,
    next_fork_at: status?.nextAt ?? null,
  }
}

function toCells(network: NetworkNow): string[] {
  const { network: name, chain_id, block, confirmations, fork, source, next_fork_at } = toJson(network)
  return [name, chain_id, block, confirmations, fork, source, next_fork_at].map((cell) => String(cell ?? '-'))
}
