/** Whether the chains are followed, and why one is not. Pure. */
import type { ChainNow } from '../chain-now.ts'
import { type Finding, step } from '../finding.ts'
import type { Limits } from '../limits.ts'
import { bursar, count, duration, startProcess } from '../words.ts'
import type { CursorNow, ServiceFacts, StallNow } from './service-facts.ts'

const FOLLOWER_SILENCE_MS = 60_000
/** A reorg, or the restart of a node, is over earlier. */
const STALLED_MS = 45_000

/** Whether the chain is recorded up to date; otherwise nothing can be said about mined transactions. */
export function isFollowed(
  cursors: readonly CursorNow[],
  chain: ChainNow,
  { lagBlocks }: Pick<Limits, 'lagBlocks'>,
): boolean {
  const cursor = cursors.find(({ chainId }) => chainId === chain.settings.chainId)
  return (
    cursor !== undefined && cursor.silentMs <= FOLLOWER_SILENCE_MS && headOf(cursor, chain) - cursor.number <= lagBlocks
  )
}

/** Between two blocks the follower is one behind, and the queried node may be one ahead. */
const AT_HEAD = { lagBlocks: 2 }

/** The part of a follower's state that lanes are judged by. */
export function followingOf(cursors: readonly CursorNow[], chain: ChainNow | null, limits: Limits) {
  return {
    followed: chain !== null && isFollowed(cursors, chain, limits),
    atHead: chain !== null && isFollowed(cursors, chain, AT_HEAD),
  }
}

function headOf({ head }: CursorNow, { node }: ChainNow): number {
  return Math.max(head, node.up ? node.head : 0)
}

export function judgeFollower(
  { cursors, stalls }: Pick<ServiceFacts, 'cursors' | 'stalls'>,
  chain: ChainNow,
  limits: Limits,
): Finding[] {
  const stall = stalls.find(({ chainId }) => chainId === chain.settings.chainId)
  if (stall !== undefined && stall.sinceMs > STALLED_MS) return [stalled(stall, cursors, chain)]
  if (isFollowed(cursors, chain, limits)) return []
  const cursor = cursors.find(({ chainId }) => chainId === chain.settings.chainId)
  const start = step('Start a follower.', startProcess('chain-follower'))
  const log = step('Read its log.', 'docker compose logs --since 10m chain-follower')
  if (cursor === undefined || cursor.silentMs > FOLLOWER_SILENCE_MS) {
    const problem =
      cursor === undefined
        ? `${chain.name} has never been followed.`
        : `${chain.name} has been at block ${cursor.number} since its follower last reached a node, ${duration(cursor.silentMs)} ago.`
    const node = chain.node.up
      ? step(`The node answers and is at block ${chain.node.head}.`)
      : step(`The node does not answer (${chain.node.why}): fix the node, or add another one to ${chain.urlsSetting}.`)
    return [
      {
        kind: 'follower_halted',
        subject: chain.name,
        problem,
        forMs: cursor?.silentMs ?? null,
        next: [node, start, log],
      },
    ]
  }
  const head = headOf(cursor, chain)
  const next = [
    step('Check again in a minute: if the number falls, the follower is catching up.', bursar('stuck')),
    step('If it does not fall, read the log.', 'docker compose logs --since 10m chain-follower'),
  ]
  const problem = `The follower of ${chain.name} is at block ${cursor.number}, ${count(head - cursor.number, 'block')} behind the chain (${head}).`
  return [{ kind: 'follower_behind', subject: chain.name, problem, forMs: null, next }]
}

function stalled(stall: StallNow, cursors: readonly CursorNow[], chain: ChainNow): Finding {
  const { chainId, reason, sinceMs } = stall
  if (stall.waits) return waiting(stall, chain)
  if (stall.refused) return refusing(stall, chain)
  const cursor = cursors.find((one) => one.chainId === chainId)
  const where = cursor === undefined ? 'has never moved' : `has been at block ${cursor.number} for ${duration(sinceMs)}`
  return {
    kind: 'follower_halted',
    subject: chain.name,
    problem: `The follower of ${chain.name} ${where}: ${reason.replace(/\.$/, '')}. Requests that need this network are refused.`,
    forMs: sinceMs,
    next: [
      step(`Correct what the node does, or set ${chain.urlsSetting} to another node of the chain first.`),
      step('Read the log of the follower.', 'docker compose logs --since 10m chain-follower'),
    ],
  }
}

function refusing({ reason, sinceMs }: StallNow, chain: ChainNow): Finding {
  return {
    kind: 'follower_halted',
    subject: chain.name,
    problem: `The follower of ${chain.name} does not move: ${reason.replace(/\.$/, '')}. Requests that need this network are refused.`,
    forMs: sinceMs,
    next: [
      step('Compare the block with a source that is none of your nodes: docs/operations.md, "A refused reorg".'),
      step(`If the nodes are wrong, set ${chain.urlsSetting} to others: the follower goes on by itself.`),
      step('Only if the chain has changed, see what following it would undo.', bursar(`accept-reorg ${chain.name}`)),
    ],
  }
}

function waiting({ reason, sinceMs }: StallNow, chain: ChainNow): Finding {
  return {
    kind: 'quorum_missing',
    subject: chain.name,
    problem: `Settling waits on ${chain.name}: ${reason.replace(/\.$/, '')}. Signing and sending go on.`,
    forMs: sinceMs,
    next: [
      step(
        `Bring back the nodes of ${chain.urlsSetting} that do not answer, or name others: docs/nodes.md tells what each number buys.`,
      ),
      step('Read the log of the follower.', 'docker compose logs --since 10m chain-follower'),
    ],
  }
}
