/** `lanes`: every lane with pending transactions, one line each. */
import type { CliCommand, Within } from '../../cli/command.ts'
import { limitOf } from '../../cli/option-values.ts'
import { shown } from '../../cli/printed.ts'
import { type ChainNow, readChain } from '../chain-now.ts'
import type { OperatorContext } from '../operator-context.ts'
import { duration } from '../words.ts'
import { judgeLane } from './judge-lane.ts'
import { completeLanes, type LaneNow } from './lane-now.ts'
import { type LeaseNow, readLaneRows } from './lane-rows.ts'
import { readLaneSituation } from './read-lane-situation.ts'

const LIMIT = { byDefault: 200, most: 99_999 }
const HEAD = [
  'network',
  'address',
  'wallet',
  'signer',
  'submitter',
  'next',
  'chain',
  'waiting',
  'signed',
  'sent',
  'oldest',
  'attention',
]

export function lanesCommand(within: Within<OperatorContext>): CliCommand {
  return {
    name: 'lanes',
    summary: 'all lanes with work in progress: their holders, nonces and waiting transactions',
    details: `Reads only. Columns: next is the next nonce to be used, chain the account's nonce on chain; waiting, signed and sent count
transactions; oldest is how long the first transaction has waited to be signed; attention lists findings of \`stuck\`.

JSON: [{"network", "chain_id", "address", "wallet_id", "signer", "submitter", "next_nonce", "chain_nonce", "waiting", "dependent",
"signed", "submitted", "awaiting_funds", "oldest_waiting_ms", "attention"}].`,
    options: [
      { flags: '--all', description: 'also list lanes with no work in progress' },
      {
        flags: '--limit <number>',
        description: `the most lanes to list, longest waiting first (default ${LIMIT.byDefault})`,
      },
    ],
    run: ({ options }, io) =>
      within(async (ports) => {
        const limit = limitOf(options.limit, LIMIT)
        const chains = await Promise.all(ports.chains.map(readChain))
        const rows = await readLaneRows(ports.pool, { idle: options.all === true, limit: limit + 1 })
        const lanes = await completeLanes(ports, rows.slice(0, limit), chains)
        const contextOf = await readLaneSituation(ports)
        const attention = (lane: LaneNow) => judgeLane(lane, contextOf(chainOf(lane, chains))).map(({ kind }) => kind)
        const listed = lanes.map((lane) => laneJson(lane, chainOf(lane, chains), attention(lane)))
        io.print(
          listed,
          listed.length === 0 ? 'no lane has work in progress\n' : io.table(HEAD, shown(listed).map(toCells)),
        )
        if (rows.length > limit) io.note(`There are more lanes: use --limit ${10 * limit}.`)
        for (const { name, node } of chains) if (!node.up) io.note(`No node of ${name} answers: ${node.why}.`)
        return chains.every(({ node }) => node.up) ? 0 : 3
      }),
  }
}

function chainOf({ lane }: Pick<LaneNow, 'lane'>, chains: readonly ChainNow[]): ChainNow | null {
  return chains.find(({ settings }) => settings.chainId === lane.chainId) ?? null
}

/** The JSON form of a lane. */
export function laneJson(lane: LaneNow, chain: ChainNow | null, attention: readonly string[]) {
  const { counts, ages } = lane
  return {
    network: chain?.name ?? `chain-${lane.lane.chainId}`,
    chain_id: lane.lane.chainId,
    address: lane.lane.address,
    wallet_id: lane.wallet?.id ?? null,
    signer: holderOf(lane.signLease),
    submitter: holderOf(lane.submitLease),
    next_nonce: nextNonce(lane),
    chain_nonce: lane.chainNonce,
    waiting: counts.waiting,
    dependent: counts.dependent,
    signed: counts.unsent,
    submitted: counts.submitted,
    awaiting_funds: counts.awaitingFunds,
    oldest_waiting_ms: ages.waiting === null ? null : Math.round(ages.waiting),
    attention,
  }
}

type LaneJson = ReturnType<typeof laneJson>

/**
 * The lowest free nonce: a gap, otherwise the one after the highest assigned, or the chain's nonce if that is higher.
 */
function nextNonce({ gaps, highestNonce, chainNonce }: LaneNow): number | null {
  const [gap] = gaps
  if (gap !== undefined) return gap
  if (chainNonce === null) return highestNonce === null ? null : highestNonce + 1
  return Math.max(chainNonce, highestNonce === null ? 0 : highestNonce + 1)
}

/** Null when the lease has expired: its holder can no longer use it. */
function holderOf(lease: LeaseNow | null): string | null {
  return lease !== null && lease.expiresInMs > 0 ? lease.holder : null
}

function toCells(lane: LaneJson): string[] {
  const cell = (value: string | number | null) => (value === null ? '-' : String(value))
  const oldest = lane.oldest_waiting_ms
  return [
    lane.network,
    lane.address,
    cell(lane.wallet_id),
    cell(lane.signer),
    cell(lane.submitter),
    cell(lane.next_nonce),
    cell(lane.chain_nonce),
    cell(lane.waiting),
    cell(lane.signed),
    cell(lane.submitted + lane.awaiting_funds),
    oldest === null ? '-' : duration(oldest),
    lane.attention.length === 0 ? '-' : lane.attention.join(', '),
  ]
}
