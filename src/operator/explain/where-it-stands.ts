/** The current state of a transaction and what to do next. Pure: problems of its lane are passed in as findings. */
import { statusOf, wishOf } from '../../transactions/state.ts'
import type { ChainNow } from '../chain-now.ts'
import { type Finding, type NextStep, step } from '../finding.ts'
import { isOverCap } from '../lanes/lane-situation.ts'
import { bursar, count, duration, gwei, startProcess } from '../words.ts'
import { afterFailure } from './after-failure.ts'
import type { StoryFacts } from './read-story.ts'

export type Surroundings = {
  /** `null` for a chain that is no longer configured. */
  readonly chain: ChainNow | null
  /** The problems of its lane. */
  readonly findings: readonly Finding[]
  /** The transaction with the lowest nonce in flight in its lane. */
  readonly headOfLane: { readonly id: string; readonly nonce: number } | null
  readonly nowMs: number
  /** Whether the follower is near the head of the chain. */
  readonly followed: boolean
}

export type Standing = {
  readonly state: string
  readonly status: string
  readonly forMs: number
  readonly confirmations: number
  readonly requiredConfirmations: number | null
  readonly says: string
  readonly next: readonly NextStep[]
}

export function whereItStands(facts: StoryFacts, surroundings: Surroundings): Standing {
  const { transaction, head, events } = facts
  const { chain, nowMs } = surroundings
  const { state, inclusion } = transaction
  const since = events.at(-1)?.recordedAt
  const confirmations = inclusion === null || head === null ? 0 : Math.max(0, head - inclusion.blockNumber + 1)
  const advice = advise(facts, surroundings, confirmations)
  const blind = surroundings.followed
    ? []
    : [step('The follower of its chain is behind or down: newer blocks are not included here.', bursar('stuck'))]
  const { says } = advice
  const next = [...blind, ...advice.next]
  return {
    state,
    status: statusOf(state),
    forMs: since === undefined ? 0 : Math.max(0, nowMs - Date.parse(since)),
    confirmations,
    requiredConfirmations: chain?.settings.confirmations ?? null,
    says,
    next,
  }
}

type Advice = Pick<Standing, 'says' | 'next'>

function advise(facts: StoryFacts, surroundings: Surroundings, confirmations: number): Advice {
  const { transaction } = facts
  const { chain, findings } = surroundings
  switch (transaction.state) {
    case 'confirmed':
      return { says: 'It is final.', next: [step('Nothing is left to do.')] }
    case 'cancelled':
      return { says: 'It was cancelled.', next: [step('Nothing is left to do. Its hold is released.')] }
    case 'failed':
    case 'reverted':
      return afterFailure(transaction)
    case 'mined':
    case 'cancelling': {
      const it = transaction.state === 'mined' ? 'It' : 'Its cancellation'
      const missing = chain === null ? null : Math.max(0, chain.settings.confirmations - confirmations)
      const says =
        missing === null
          ? `${it} is in a block with ${count(confirmations, 'confirmation')}, on a chain that is no longer configured.`
          : `${it} is in a block with ${confirmations} of ${chain?.settings.confirmations} confirmations.`
      const wait =
        missing === 0
          ? 'The follower settles it with the next block.'
          : `Wait for ${count(missing ?? 0, 'block')} more.`
      return { says, next: [step(wait), ...stuckSteps(findings)] }
    }
    case 'requested':
      return adviseWaiting(facts, surroundings)
    default:
      return adviseInFlight(facts, surroundings)
  }
}

function adviseWaiting({ dependsOn, transaction }: StoryFacts, { findings }: Surroundings): Advice {
  const { intent } = transaction
  if (dependsOn !== null && !['confirmed', 'mined'].includes(dependsOn.state)) {
    return {
      says: `It waits for ${dependsOn.id} (${dependsOn.type}), which is ${dependsOn.state}.`,
      next: [step('See why it waits.', bursar(`explain ${dependsOn.id}`)), ...stuckSteps(findings)],
    }
  }
  const until = intent.validUntil === null ? '' : ` It fails if this does not happen by ${intent.validUntil}.`
  return {
    says: `It waits in its lane to be signed.${until}`,
    next:
      findings.length > 0
        ? stuckSteps(findings)
        : [step('A signer signs it within seconds.'), laneStep(transaction.intent)],
  }
}

function adviseInFlight({ id, transaction }: StoryFacts, { findings, headOfLane, chain }: Surroundings): Advice {
  const { state, intent } = transaction
  const behind = headOfLane !== null && headOfLane.id !== id
  const says = SAYINGS[state] ?? `It is ${state}.`
  const order = behind
    ? ` ${headOfLane.id} with nonce ${headOfLane.nonce} is before it in its lane and is not mined yet.`
    : ''
  const overCap = wishOf(transaction) === null || !isOverCap(chain) ? [] : wishOverCap(transaction, chain)
  const node = chain === null || chain.node.up ? '' : ` No node of ${chain.name} answers.`
  return {
    says: `${says}${order}${node}`,
    next: [
      ...(behind ? [step('See why it waits.', bursar(`explain ${headOfLane.id}`))] : []),
      ...overCap,
      ...stuckSteps(findings),
      ...(findings.length === 0 && overCap.length === 0 && !behind ? [step('Wait: nothing is stuck.')] : []),
      laneStep(intent),
    ],
  }
}

/** A wish that waits because nothing is signed on the chain. */
function wishOverCap({ cancellationRequested }: StoryFacts['transaction'], chain: ChainNow | null): NextStep[] {
  if (chain === null) return []
  const { capSetting, settings } = chain
  return [
    step(
      `The requested ${cancellationRequested ? 'cancellation' : 'speed-up'} is not signed, because the network requires more than the cap of ` +
        `${gwei(settings.maxFeePerGasWei)}. Wait for fees to fall, or set ${capSetting} higher and restart the signers and the API.`,
      startProcess('signer api'),
    ),
  ]
}

const SAYINGS: Readonly<Record<string, string>> = {
  signed: 'It is signed but not yet sent to a node.',
  replaced: 'A newer version is signed but not yet sent to a node.',
  reorged: 'A reorg removed its block; the same bytes will be sent again.',
  submitted: 'A node has it, but it is not mined yet.',
  awaiting_funds: 'The node refused it: the wallet cannot pay for it.',
}

function laneStep({ network, environment, from }: StoryFacts['transaction']['intent']): NextStep {
  const name = environment === 'mainnet' ? network : `${network}-${environment}`
  return step('See its whole lane.', bursar(`lane ${name} ${from}`))
}

function stuckSteps(findings: readonly Finding[]): NextStep[] {
  return findings.flatMap(({ kind, problem, forMs, next }) => [
    step(`${kind}${forMs === null ? '' : ` for ${duration(forMs)}`}: ${problem}`),
    ...next,
  ])
}
