/** Renders a history as text for people, and as JSON for machines. Pure. */
import type { Paint } from '../../cli/command.ts'
import { chainName, duration } from '../words.ts'
import type { OtherTransaction, StoryFacts } from './read-story.ts'
import type { StoryStep } from './story.ts'
import type { Detail } from './told.ts'
import type { Standing } from './where-it-stands.ts'

export type Story = { readonly facts: StoryFacts; readonly steps: readonly StoryStep[]; readonly standing: Standing }

export function storyJson({ facts, steps, standing }: Story) {
  const { intent, type } = facts.transaction
  return {
    transaction_id: facts.id,
    type,
    tenant_id: intent.tenantId,
    wallet_id: intent.walletId,
    network: chainName(intent),
    chain_id: intent.chainId,
    story: steps.map(({ at, afterMs, event, who, text, details }) => ({
      at,
      after_ms: afterMs,
      event,
      who,
      text,
      details,
    })),
    held: facts.held,
    depends_on: facts.dependsOn,
    dependents: facts.dependents,
    now: {
      state: standing.state,
      status: standing.status,
      for_ms: standing.forMs,
      confirmations: standing.confirmations,
      required_confirmations: standing.requiredConfirmations,
      says: standing.says,
      next: standing.next,
    },
  }
}

/** Details are indented under their step, with aligned names. */
const NAME_WIDTH = 16

export function storyText({ facts, steps, standing }: Story, paint: Paint): string {
  const { intent, type } = facts.transaction
  const head = `${paint.bold(facts.id)}  ${type} on ${chainName(intent)} (chain ${intent.chainId}), tenant ${intent.tenantId}\n`
  const told = steps.map((one) => describeStep(one, paint)).join('\n')
  const others = [
    ...(facts.dependsOn === null ? [] : [`depends on ${describeOther(facts.dependsOn)}`]),
    ...facts.dependents.map((one) => `${describeOther(one)} depends on it`),
  ]
  const held = facts.held === null ? '' : `\n${paint.red('held')}  ${facts.held} Nothing is added or signed.\n`
  const related = others.length === 0 ? '' : `\n${others.join('\n')}\n`
  const next = standing.next.flatMap(({ say, run }) => [
    `   → ${say}`,
    ...(run === null ? [] : [`     ${paint.bold(run)}`]),
  ])
  const now = `${paint.yellow('now')}  ${standing.state} (${standing.status}) for ${duration(standing.forMs)}. ${standing.says}`
  return `${head}\n${told}${held}${related}\n${now}\n${next.join('\n')}\n`
}

function describeStep({ at, waited, who, text, details }: StoryStep, paint: Paint): string {
  const wait = waited === null ? '' : `${paint.dim(`   … ${waited}`)}\n`
  const lines = details.map((detail) => `      ${describeDetail(detail, paint)}\n`)
  return `${wait}${at}  ${paint.bold(text)}\n      ${paint.dim('by'.padEnd(NAME_WIDTH))}${who}\n${lines.join('')}`
}

function describeDetail({ name, value, source }: Detail, paint: Paint): string {
  return `${paint.dim(name.padEnd(NAME_WIDTH))}${value}${source === 'recorded' ? '' : paint.dim(` (${source})`)}`
}

function describeOther({ id, type, state }: OtherTransaction): string {
  return `${id} (${type}, ${state})`
}
