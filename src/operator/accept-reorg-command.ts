/** `accept-reorg`: lets the follower of a network go on with a reorg that it refuses, or with another chain of the same id. */
import type { Refusal } from '../chain/follow.ts'
import { BadInput, type CliCommand, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { shownText } from '../cli/printed.ts'
import { Conflict } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'
import type { OperatorChain } from './chain-now.ts'
import { findChain } from './lanes/lane-command.ts'
import { tellingOutages } from './operator-context.ts'
import { bursar, chainName, count, duration } from './words.ts'

type RefusedReorg = Refusal & { readonly reason: string; readonly sinceMs: number }

const MOST_CHARACTERS = 500

export function acceptReorgCommand(
  within: Within<{
    readonly chains: readonly OperatorChain[]
    readonly refusedOn: (chainId: number) => Promise<RefusedReorg | null>
    readonly transactionsFrom: (
      chainId: number,
      block: number,
    ) => Promise<{ readonly count: number; readonly told: number }>
    /** Transfers of our wallets and watched addresses that were observed, whoever sent them. */
    readonly transfersFrom: (chainId: number, block: number) => Promise<number>
    /** The hash of a block as each node has it; `null` from one that does not answer or has none. */
    readonly hashesAt: (chainId: number, block: number) => Promise<readonly (string | null)[]>
    readonly accept: (chain: ChainKey, refused: RefusedReorg, reason: string) => Promise<void>
  }>,
): CliCommand {
  return {
    name: 'accept-reorg',
    summary: 'let the follower undo what it refuses to undo, with a reason',
    details: `A follower stops where the nodes show another chain below a block that they called final, or another block 0. stuck says so
(follower_halted). This command shows what following them would undo. With --yes it appends ReorgAccepted to the log, and the
follower goes on within seconds: outcomes are revoked, deposits taken back, the blocks of the nodes' chain read, and what is not in
them is sent again with the same bytes. It holds for the refused block only.

Look first: docs/operations.md, "A refused reorg". Both payments can be mined where a transfer got a new nonce on the undone branch.

Exit code 0: accepted; 1: nothing was accepted, because nothing is refused or --yes is missing.

JSON: {"network", "chain_id", "reason", "from_block", "final", "genesis", "undone": {"transactions", "reported", "transfers"},
"nodes": [hash or null], "accepted"}.

Example: accept-reorg polygon --reason "incident 31: milestone was reverted, explorers agree" --yes`,
    arguments: [
      { name: '<network>', description: 'ethereum, polygon or binance; append -testnet for the test network' },
    ],
    options: [
      { flags: '--reason <text>', description: `why, up to ${MOST_CHARACTERS} characters; required with --yes` },
      { flags: '--yes', description: 'accept it; without it nothing is changed' },
    ],
    run: ({ arguments: [network = ''], options }, io) => {
      const reason = options.yes === true ? requireReason(textOf(options.reason)) : null
      return tellingOutages(within)(async (ports) => {
        const chain = findChain(ports.chains, network)
        const { chainId } = chain.settings
        const refused = await ports.refusedOn(chainId)
        if (refused === null)
          throw new Conflict(
            'nothing_refused',
            `The follower of ${network} refuses no reorg, so there is nothing to accept. ${bursar('stuck')} says why it does not move.`,
          )
        const [transactions, transfers, hashes] = await Promise.all([
          ports.transactionsFrom(chainId, refused.from),
          ports.transfersFrom(chainId, refused.from),
          ports.hashesAt(chainId, refused.final?.number ?? 0),
        ])
        if (reason !== null) await ports.accept(chain.settings, refused, reason)
        return show({ chain, refused, transactions, transfers, hashes, isAccepted: reason !== null }, io)
      })
    },
  }
}

function requireReason(text: string | undefined): string {
  if (text !== undefined && text.trim() !== '' && text.length <= MOST_CHARACTERS) return text
  throw new BadInput(`--reason must be a text of 1 to ${MOST_CHARACTERS} characters.`)
}

type Shown = {
  readonly chain: OperatorChain
  readonly refused: RefusedReorg
  readonly transactions: { readonly count: number; readonly told: number }
  readonly transfers: number
  readonly hashes: readonly (string | null)[]
  readonly isAccepted: boolean
}

function show({ chain, refused, transactions, transfers, hashes, isAccepted }: Shown, io: CliIo): ExitCode {
  const { from, final, genesis, reason, sinceMs } = refused
  const name = chainName(chain.settings)
  const json = {
    network: name,
    chain_id: chain.settings.chainId,
    reason,
    from_block: from,
    final,
    genesis,
    undone: { transactions: transactions.count, reported: transactions.told, transfers },
    nodes: hashes,
    accepted: isAccepted,
  }
  const lines = [
    `${name}: the follower has refused for ${duration(sinceMs)}: ${shownText(reason)}.`,
    `From block ${from} on, this undoes ${count(transactions.count, 'transaction')}, ${transactions.told} of them with a reported outcome, ` +
      `and ${count(transfers, 'observed transfer')}.`,
    nodesText(refused, hashes),
    isAccepted
      ? 'Accepted: the follower goes on within seconds.'
      : `Nothing is changed. To accept it: ${bursar(`accept-reorg ${name} --reason "…" --yes`)}`,
  ]
  io.print(json, `${lines.join('\n')}\n`)
  return isAccepted ? 0 : 1
}

function nodesText({ final, genesis }: RefusedReorg, hashes: readonly (string | null)[]): string {
  const known = hashes.filter((hash) => hash !== null)
  const others = known.filter((hash) => (final === null ? hash === genesis : hash !== final.hash)).length
  const silent = hashes.length - known.length
  return `Nodes that show another block ${final?.number ?? 0} now: ${others}; the followed one: ${known.length - others}; none: ${silent}.`
}
