/** `lane <network> <address>`: one lane with its transactions, gaps and leases, and what to do next. */

import { parseAddress } from '../../chain/address.ts'
import { BadInput, type CliCommand, type CliIo, type ExitCode, type Within } from '../../cli/command.ts'
import { shown, shownText } from '../../cli/printed.ts'
import { NotFound } from '../../core/errors.ts'
import { type ChainNow, type OperatorChain, readChain, readNonces } from '../chain-now.ts'
import { type Finding, findingJson } from '../finding.ts'
import type { OperatorContext } from '../operator-context.ts'
import { describeFinding } from '../stuck/stuck-command.ts'
import { chainName, count, duration, gwei } from '../words.ts'
import { judgeLane } from './judge-lane.ts'
import { completeLanes, type LaneNow } from './lane-now.ts'
import { type LeaseNow, readLaneRows } from './lane-rows.ts'
import { laneJson } from './lanes-command.ts'
import { readLaneSituation } from './read-lane-situation.ts'
import { readUnfinished, type Unfinished } from './unfinished.ts'

const HEAD = ['nonce', 'state', 'for', 'transaction', 'hash', 'offers at most', 'bytes']

export function laneCommand(within: Within<OperatorContext>): CliCommand {
  return {
    name: 'lane',
    summary: 'one lane in detail: each transaction in progress, gaps, leases, the next step',
    details: `Reads only. A process signs, or sends, for all lanes of a partition at once: the leases are those of the lane's partition.
Exit code 0: nothing is stuck in it; 1: something is; 3: no node of its chain answers, and the rest is printed.

JSON: {"lane": as in lanes, "pending_nonce", "base_fee_per_gas_wei", "gaps", "leases": {"sign", "submit"} of {"name", "holder", "fence", "expires_in_ms"},
"transactions": [{"transaction_id", "nonce", "state", "for_ms", "hash", "purpose", "bytes", "max_fee_per_gas_wei",
"max_priority_fee_per_gas_wei", "under_base_fee", "depends_on"}], "findings": as in stuck}.`,
    arguments: [
      { name: '<network>', description: 'ethereum, polygon or binance; append -testnet for the test network' },
      { name: '<address>', description: 'of the wallet, in any case' },
    ],
    run: ({ arguments: [network = '', address = ''] }, io) =>
      within(async (ports): Promise<ExitCode> => {
        const configured = findChain(ports.chains, network)
        return showLane(ports, configured, parseAddress(address, 'address'), io)
      }),
  }
}

/** @throws BadInput for a network that is not configured */
export function findChain(chains: readonly OperatorChain[], network: string): OperatorChain {
  const found = chains.find(({ settings }) => chainName(settings) === network)
  if (found !== undefined) return found
  const names = chains.map(({ settings }) => chainName(settings)).join(', ')
  throw new BadInput(`${network} is not a configured network: ${names === '' ? 'none is configured' : `use ${names}`}`)
}

async function showLane(
  ports: OperatorContext,
  configured: OperatorChain,
  address: string,
  io: CliIo,
): Promise<ExitCode> {
  const { pool, log } = ports
  const wanted = { chainId: configured.settings.chainId, address }
  const [chain, rows, contextOf, [pendingNonce = null]] = await Promise.all([
    readChain(configured),
    readLaneRows(pool, { lane: wanted, idle: true, limit: 1 }),
    readLaneSituation(ports),
    readNonces(configured.client, [address], 'pending'),
  ])
  const [lane] = await completeLanes(ports, rows, [chain])
  if (lane === undefined)
    throw new NotFound('lane', 'lane_not_found', `No wallet has the address ${address} on ${chain.name}.`)
  const transactions = await readUnfinished({ pool, log }, lane.lane)
  const findings = judgeLane(lane, contextOf(chain))
  const facts = { lane, pendingNonce, transactions, findings }
  // The client of a chain is no data.
  const printedChain = { ...chain, name: shownText(chain.name), node: shown(chain.node) }
  io.print(toJson({ ...facts, chain }), toText({ ...shown(facts), chain: printedChain }, io))
  if (chain.node.up) return findings.length > 0 ? 1 : 0
  io.note(`No node of ${chain.name} answers: ${chain.node.why}.`)
  return 3
}

type Shown = {
  readonly lane: LaneNow
  readonly chain: ChainNow
  readonly pendingNonce: number | null
  readonly transactions: readonly Unfinished[]
  readonly findings: readonly Finding[]
}

function isUnderBase({ maxFeePerGas }: Unfinished, { node }: ChainNow): boolean | null {
  return maxFeePerGas === null || !node.up ? null : maxFeePerGas < node.baseFeePerGas
}

function toJson({ lane, chain, pendingNonce, transactions, findings }: Shown) {
  return {
    lane: laneJson(
      lane,
      chain,
      findings.map(({ kind }) => kind),
    ),
    pending_nonce: pendingNonce,
    base_fee_per_gas_wei: chain.node.up ? chain.node.baseFeePerGas.toString() : null,
    gaps: lane.gaps,
    leases: { sign: leaseJson(lane.signLease), submit: leaseJson(lane.submitLease) },
    transactions: transactions.map((item) => ({
      transaction_id: item.id,
      nonce: item.nonce,
      state: item.state,
      for_ms: Math.round(item.forMs),
      hash: item.hash,
      purpose: item.purpose,
      bytes: item.bytes,
      max_fee_per_gas_wei: item.maxFeePerGas?.toString() ?? null,
      max_priority_fee_per_gas_wei: item.maxPriorityFeePerGas?.toString() ?? null,
      under_base_fee: isUnderBase(item, chain),
      depends_on: item.dependsOn,
    })),
    findings: findings.map(findingJson),
  }
}

function leaseJson(lease: LeaseNow | null) {
  return lease === null
    ? null
    : { name: lease.name, holder: lease.holder, fence: lease.fence, expires_in_ms: Math.round(lease.expiresInMs) }
}

function toText({ lane, chain, pendingNonce, transactions, findings }: Shown, { table, paint }: CliIo): string {
  const { wallet, counts, gaps, chainNonce, highestNonce } = lane
  const { node } = chain
  const facts = [
    ['lane', `${chain.name} ${lane.lane.address}`],
    ['wallet', wallet === null ? 'none' : `${wallet.id} (${wallet.type}, tenant ${wallet.tenantId}) ${wallet.label}`],
    ['signing', describeLease(lane.signLease)],
    ['sending', describeLease(lane.submitLease)],
    [
      'nonces',
      `chain ${chainNonce ?? '?'}, with its pool ${pendingNonce ?? '?'}, highest given ${highestNonce ?? 'none'}`,
    ],
    ['gaps', gaps.length === 0 ? 'none' : gaps.join(', ')],
    ['base fee', node.up ? `${gwei(node.baseFeePerGas)} at block ${node.head}` : `unknown: ${node.why}`],
    [
      'in progress',
      `${counts.waiting} waiting (${counts.dependent} for another transaction), ${counts.unsent} signed, ${counts.submitted} sent, ${counts.awaitingFunds} short of funds`,
    ],
  ] as const
  const lines = facts.map(([name, fact]) => `${paint.dim(name.padEnd(10))}${fact}\n`).join('')
  const rows = transactions.map((item) => [
    item.nonce === null ? '-' : String(item.nonce),
    item.state,
    duration(item.forMs),
    item.id,
    item.hash ?? (item.dependsOn === null ? '-' : `waits for ${item.dependsOn}`),
    offer(item, chain),
    item.bytes === 0 ? '-' : `${count(item.bytes, 'version')}, ${item.purpose}`,
  ])
  const list = rows.length === 0 ? 'no transaction in progress\n' : table(HEAD, rows)
  const stuck =
    findings.length === 0 ? 'nothing is stuck here\n' : findings.map((one) => describeFinding(one, paint)).join('\n')
  return `${lines}\n${list}\n${stuck}`
}

function offer(item: Unfinished, chain: ChainNow): string {
  if (item.maxFeePerGas === null) return '-'
  return `${gwei(item.maxFeePerGas)}${isUnderBase(item, chain) === true ? ', under the base fee' : ''}`
}

function describeLease(lease: LeaseNow | null): string {
  if (lease === null) return 'none'
  const which = `lease ${lease.name}, fence ${lease.fence}`
  if (lease.expiresInMs > 0) return `${lease.holder}, for another ${duration(lease.expiresInMs)} (${which})`
  return `none: the lease of ${lease.holder} expired ${duration(-lease.expiresInMs)} ago (${which})`
}
