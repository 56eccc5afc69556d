/**
 * `reconcile [network] [address]`: compares lanes with their chains after the database was restored, and records what
 * it finds. `--claim` and `--new` record an operator's decision on a request that is held.
 */
import { parseAddress } from '../chain/address.ts'
import { BadInput, type CliCommand, type CliIo, type CliOptions, type ExitCode, type Within } from '../cli/command.ts'
import { shown } from '../cli/printed.ts'
import type { Judged, Verdict } from '../transactions/judge-lookalike.ts'
import type { Lane } from '../transactions/lanes.ts'
import type { ReconciledLane } from '../transactions/reconcile-lanes.ts'
import type { OperatorChain } from './chain-now.ts'
import { type NextStep, step } from './finding.ts'
import { findChain } from './lanes/lane-command.ts'
import { tellingOutages } from './operator-context.ts'
import { bursar, chainName, count } from './words.ts'

export function reconcileCommand(
  within: Within<{
    readonly chains: readonly OperatorChain[]
    readonly find: (only: Lane | null) => Promise<readonly Lane[]>
    readonly reconcile: (lane: Lane) => Promise<ReconciledLane>
    readonly judge: (transactionId: string, verdict: Verdict, hash: string) => Promise<Judged>
  }>,
): CliCommand {
  return {
    name: 'reconcile',
    summary: 'compare lanes with their chains after a restore or failover, and record what was missing',
    details: `Does immediately what a signer does before it first signs in a lane after a start of the database. If nodes show more
transactions of a wallet than the log has, and one of them has the tag of a request, it is recorded as that request's own. Signs
nothing and sends nothing. Compares lanes with unmined transactions; signers can run meanwhile. Needs the follower, which
reads the blocks.

Run it with the settings of the signers, as their database user: docker compose run --rm signer node dist/bin/bursar.js reconcile

A request is held when a transaction on chain may be its own and nothing proves it: it was signed by a version without tags, or
its idempotency key was used for something else. Look up the hash that the command prints. If it paid this request, --claim
with --hash records it; if it did not, --new with --hash records that, and the request is signed.

Exit code 0: every lane was compared and is free to sign; 1: a lane is held, or another process records for it; 3: no node answered for a lane.

JSON: {"lanes": [{"network", "chain_id", "address", "outcome": compared, held, busy or unanswered, "reason", "requests_held",
"waiting", "recovered": [{"transaction_id", "nonce", "hash"}], "next": [{"say", "run"}]}]}; with --claim or --new {"transaction_id",
"verdict", "hash", "nonce"}.`,
    options: [
      { flags: '--claim <transaction_id>', description: 'the transaction on chain is this request: record it' },
      { flags: '--new <transaction_id>', description: 'the transaction on chain is not this request: sign it' },
      { flags: '--hash <hash>', description: 'with --claim or --new: the transaction on chain that was looked up' },
    ],
    arguments: [
      { name: '[network]', description: 'with an address: the lane of one wallet, as in `lane`' },
      { name: '[address]', description: 'of the wallet, in any case' },
    ],
    run: ({ arguments: [network, address], options }, io) =>
      tellingOutages(within)(async ({ chains, find, reconcile, judge }) => {
        const choice = choiceOf(options)
        if (choice !== null) return showJudged(await judge(choice.id, choice.verdict, choice.hash), io)
        if (network !== undefined && address === undefined)
          throw new BadInput('reconcile needs a network and an address, or neither for all lanes.')
        const only =
          network === undefined || address === undefined
            ? null
            : {
                chainId: findChain(chains, network).settings.chainId,
                address: parseAddress(address, 'address'),
              }
        return show(chains, await reconcileAll(reconcile, await find(only), io), io)
      }),
  }
}

type Choice = { readonly id: string; readonly verdict: Verdict; readonly hash: string }

function choiceOf({ claim, new: other, hash }: CliOptions): Choice | null {
  if (claim !== undefined && other !== undefined) throw new BadInput('Give either --claim or --new, not both.')
  const id = claim ?? other
  if (typeof id !== 'string') return null
  if (typeof hash !== 'string') throw new BadInput('Give the transaction on chain that you looked up with --hash.')
  return { id, verdict: claim === undefined ? 'new' : 'claim', hash }
}

function showJudged(judged: Judged, io: CliIo): ExitCode {
  const { transactionId, verdict, hash, nonce } = shown(judged)
  const text =
    verdict === 'claim'
      ? `recorded: ${hash} with nonce ${nonce} is ${transactionId}\n`
      : `recorded: ${hash} with nonce ${nonce} is not ${transactionId}, which is signed now\n`
  io.print({ transaction_id: transactionId, verdict, hash, nonce }, text)
  return 0
}

async function reconcileAll(
  reconcile: (lane: Lane) => Promise<ReconciledLane>,
  lanes: readonly Lane[],
  io: CliIo,
): Promise<readonly ReconciledLane[]> {
  const progress = io.progress({ unit: 'lanes', total: lanes.length })
  const done: ReconciledLane[] = []
  try {
    for (const lane of lanes) {
      done.push(await reconcile(lane))
      progress.at(done.length)
    }
    return done
  } finally {
    progress.end()
  }
}

function show(chains: readonly OperatorChain[], lanes: readonly ReconciledLane[], io: CliIo): ExitCode {
  const told = lanes.map((lane) => {
    const chain = chains.find(({ settings }) => settings.chainId === lane.lane.chainId) ?? null
    const name = chain === null ? `chain-${lane.lane.chainId}` : chainName(chain.settings)
    return { lane, name, next: nextSteps(lane, `${name} ${lane.lane.address}`, chain) }
  })
  const json = told.map(({ lane: { lane, outcome, reason, unclear, waiting, recovered }, name, next }) => ({
    network: name,
    chain_id: lane.chainId,
    address: lane.address,
    outcome,
    reason,
    requests_held: unclear,
    waiting,
    recovered: recovered.map(({ transactionId, nonce, hash }) => ({ transaction_id: transactionId, nonce, hash })),
    next,
  }))
  const ended = (outcome: ReconciledLane['outcome']) => lanes.filter((lane) => lane.outcome === outcome).length
  const found = lanes.reduce((sum, { recovered }) => sum + recovered.length, 0)
  const summary =
    `${count(lanes.length, 'lane')}: ${ended('compared')} compared, ${ended('held')} held, ${ended('busy')} busy, ` +
    `${ended('unanswered')} unanswered. ${count(found, 'transaction')} found on chain and recorded.\n`
  const parts = told.filter(({ lane }) => lane.outcome !== 'compared' || lane.recovered.length > 0)
  io.print(
    { lanes: json },
    [...shown(parts).map(({ lane, name, next }) => toText(lane, name, next, io)), summary].join('\n'),
  )
  if (ended('unanswered') > 0) return 3
  return ended('compared') === lanes.length ? 0 : 1
}

function nextSteps({ outcome }: ReconciledLane, subject: string, chain: OperatorChain | null): NextStep[] {
  const again = bursar(`reconcile ${subject}`)
  switch (outcome) {
    case 'compared':
      return []
    case 'held':
      return [
        step('Check that the follower catches up: each block that it reads is compared.', bursar('stuck')),
        step('Then compare again.', again),
        step('If it stays held, see docs/operations.md, "A lane that stays held", for each reason.'),
      ]
    case 'busy':
      return [step('Compare it again in a few seconds.', again)]
    default:
      return [
        step(
          chain === null
            ? 'Configure the RPC URLs of this chain again.'
            : `Add a node that answers to ${chain.urlsSetting}.`,
        ),
        step('Then compare again.', again),
      ]
  }
}

function toText(
  { lane, outcome, reason, unclear, waiting, recovered }: ReconciledLane,
  name: string,
  next: readonly NextStep[],
  { paint }: CliIo,
): string {
  const head = `${outcome === 'compared' ? paint.green(outcome) : paint.yellow(outcome)} · ${name} ${lane.address}, ${count(waiting, 'request')} to be signed`
  return `${[
    head,
    ...[reason ?? [], unclear].flat().map((line) => `   ${line}`),
    ...recovered.map(({ transactionId, nonce, hash }) => `   recorded ${transactionId}: nonce ${nonce}, ${hash}`),
    ...next.flatMap(({ say, run }) => [`   → ${say}`, ...(run === null ? [] : [`     ${paint.bold(run)}`])]),
  ].join('\n')}\n`
}
