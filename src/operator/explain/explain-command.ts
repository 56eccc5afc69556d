/** `explain`: the history of a transaction or another resource, for people. */
import type { CliCommand, CliIo, ExitCode, Within } from '../../cli/command.ts'
import { shown } from '../../cli/printed.ts'
import { readChain } from '../chain-now.ts'
import { judgeLane } from '../lanes/judge-lane.ts'
import { completeLanes } from '../lanes/lane-now.ts'
import { readLaneRows } from '../lanes/lane-rows.ts'
import { readLaneSituation } from '../lanes/read-lane-situation.ts'
import type { OperatorContext } from '../operator-context.ts'
import { explainResource } from './explain-resource.ts'
import { findTarget } from './find-target.ts'
import { readStory, type StoryFacts } from './read-story.ts'
import { storyJson, storyText } from './show-story.ts'
import { tellStory } from './story.ts'
import { type Surroundings, whereItStands } from './where-it-stands.ts'

export function explainCommand(within: Within<OperatorContext>): CliCommand {
  return {
    name: 'explain',
    summary: 'the history of a transaction or another resource: who requested it, each decision, its outcome',
    details: `Reads only. Each fact shows its source: plain facts are recorded in their event; (derived) facts are computed from other events up to
that time; (now) facts are current. Not recorded: that the same bytes were sent again, and which mpc parties signed.

Exit code 0: found; 2: no object with this id or hash; 3: the database does not answer, or no node of the chain answers and the output
lacks what only a node can report.

JSON: {"transaction_id", "type", "tenant_id", "wallet_id", "network", "chain_id", "story": [{"at", "after_ms", "event", "who", "text",
"details": [{"name", "value", "source": "recorded" | "derived" | "now"}]}], "held", "depends_on", "dependents", "now": {"state", "status",
"for_ms", "confirmations", "required_confirmations", "says", "next": [{"say", "run"}]}}; of another
resource {"of", "story": [{"at", "event", "who", "text"}], "transactions": [{"id", "type", "state", "createdAt"}]}.`,
    arguments: [
      {
        name: '<id>',
        description:
          'a transaction (tx_…) or any of its hashes (0x…), or a wallet, key, batch of transfers, collection, mint, NFT transfer, signature or export, or policy-<tenant>-<environment>',
      },
    ],
    run: ({ arguments: [id = ''] }, io) =>
      within(async (ports): Promise<ExitCode> => {
        const target = await findTarget(ports.pool, ports.explained, id)
        return target.kind === 'resource' ? explainResource(ports, target, io) : explain(ports, target.id, io)
      }),
  }
}

async function explain(ports: OperatorContext, id: string, io: CliIo): Promise<ExitCode> {
  const facts = await readStory(ports, id)
  const surroundings = await readSurroundings(ports, facts)
  const story = { facts, steps: tellStory(facts), standing: whereItStands(facts, surroundings) }
  io.print(storyJson(story), storyText(shown(story), io.paint))
  const { chain } = surroundings
  if (chain === null || chain.node.up) return 0
  io.note(`No node of ${chain.name} answers: ${chain.node.why}.`)
  return 3
}

const ENDED: ReadonlySet<string> = new Set(['confirmed', 'cancelled', 'failed', 'reverted'])

/** A finished transaction needs no node and no lane. */
async function readSurroundings(ports: OperatorContext, { transaction }: StoryFacts): Promise<Surroundings> {
  const { chainId, from: address } = transaction.intent
  const nowMs = ports.clock()
  const configured = ports.chains.find(({ settings }) => settings.chainId === chainId)
  const isOver = ENDED.has(transaction.state)
  const chain =
    configured === undefined
      ? null
      : isOver
        ? { ...configured, name: configured.settings.network, node: { up: true, head: 0, baseFeePerGas: 0n } as const }
        : await readChain(configured)
  if (isOver) return { chain, findings: [], headOfLane: null, nowMs, followed: true }
  const [rows, contextOf] = await Promise.all([
    readLaneRows(ports.pool, { lane: { chainId, address }, idle: true, limit: 1 }),
    readLaneSituation(ports),
  ])
  const [lane] = await completeLanes(ports, rows, chain === null ? [] : [chain])
  if (lane === undefined) return { chain, findings: [], headOfLane: null, nowMs, followed: true }
  const context = contextOf(chain)
  const findings = judgeLane(lane, context)
  const headOfLane = lane.head === null || lane.headNonce === null ? null : { id: lane.head.id, nonce: lane.headNonce }
  return { chain, findings, headOfLane, nowMs, followed: context.followed }
}
