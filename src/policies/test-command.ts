/** `policy test`: what a policy would have refused, limited or asked approvals for. Changes nothing. */
import { BadInput, type CliCommand, type CliInput, type CliIo, type ExitCode, type Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import { formatAmount } from '../core/money.ts'
import { ENVIRONMENTS, type Environment } from '../core/networks.ts'
import type { Policy } from '../core/policy.ts'
import { USD_DECIMALS } from '../core/spend-limits.ts'
import type { Owner } from '../core/tenants.ts'
import type { BacktestResult, Tally } from './backtest.ts'
import { compilePolicy } from './compile.ts'
import { lintPolicy } from './lint.ts'
import type { PastContext } from './read-past.ts'
import { type BacktestRun, runBacktest } from './run-backtest.ts'
import { shownBacktest } from './shown-backtest.ts'

type PolicyTest = {
  readonly past: PastContext
  /** The policy in a file, with the assets that the tenant may name. @throws BadInput, ValidationFailed */
  readonly readFile: (path: string, owner: Owner) => Promise<Policy>
}

export function policyTestCommand(within: Within<PolicyTest>): CliCommand {
  return {
    name: 'policy test',
    summary: 'test a policy on what a tenant has requested: what it would have refused, by rule',
    details:
      'Reads the log of the tenant in its order, with the prices and tags of then, and changes nothing. What the policy would have refused\n' +
      'counts towards no limit. Requests before --from count towards limits, as far as windows reach back.\n\n' +
      'Examples: policy test --file policy.json --tenant acme\n' +
      '          policy test --file policy.json --tenant acme --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --json',
    options: [
      { flags: '--file <path>', description: 'the policy, as PUT /v1/policies takes it', required: true },
      { flags: '--tenant <id>', description: 'whose requests', required: true },
      { flags: '--environment <name>', description: 'mainnet (the default) or testnet', choices: ENVIRONMENTS },
      { flags: '--from <time>', description: 'only requests from this time on' },
      { flags: '--to <time>', description: 'only requests before this time' },
    ],
    run: (input, io) => within((ports) => run(ports, input, io)),
  }
}

async function run({ past, readFile }: PolicyTest, { options }: CliInput, io: CliIo): Promise<ExitCode> {
  const environment = (textOf(options.environment) ?? 'mainnet') as Environment
  const owner = { tenantId: textOf(options.tenant) ?? '', environment }
  const range = { fromMs: timeOf('--from', options.from), toMs: timeOf('--to', options.to) }
  if (range.fromMs !== null && range.toMs !== null && range.fromMs >= range.toMs)
    throw new BadInput('--from must be earlier than --to')
  const policy = await readFile(textOf(options.file) ?? '', owner)
  for (const { message } of lintPolicy(policy)) io.note(message)
  const progress = io.progress({ unit: 'events', total: null })
  let read = 0
  const tested = await runBacktest(past, owner, compilePolicy(policy, 0), range, (events) => {
    read += events
    progress.at(read)
    return true
  }).finally(progress.end)
  io.print(shownBacktest(tested), textOfRun(io, tested))
  return 0
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/

function timeOf(option: string, value: CliInput['options'][string]): number | null {
  const text = textOf(value)
  if (text === undefined) return null
  const time = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new BadInput(`${option} must be a time with its zone, such as 2026-01-31T12:00:00Z`)
  return time
}

function textOfRun(io: CliIo, { result, read, ms }: BacktestRun): string {
  const speed = Math.round((read * 1_000) / Math.max(1, ms))
  const { totals, rules, largest } = result
  const requests = Object.values(totals).reduce((sum, tally) => sum + tally.requests, 0)
  if (requests === 0) return `No requests in ${count(read)} events.\n`
  return [
    `${count(requests)} requests in ${count(read)} events (${count(speed)} a second)\n\n`,
    io.table(['verdict', 'requests', 'USD', 'without a price'], verdicts(totals)),
    rules.length === 0 ? '' : `\n${io.table(RULE_HEAD, rules.map(ruleRow))}`,
    largest.length === 0
      ? '\nIt would have refused nothing.\n'
      : `\nThe largest that it would not have allowed:\n${io.table(['at', 'id', 'verdict', 'rules', 'USD'], largest.map(caseRow))}`,
  ].join('')
}

function verdicts(totals: BacktestResult['totals']): readonly (readonly string[])[] {
  const row = (name: string, tally: Tally) => [name, count(tally.requests), usd(tally.usd), count(tally.unpriced)]
  return [
    row('allowed', totals.allowed),
    row('denied', totals.denied),
    row('limited', totals.limited),
    row('needs approval', totals.needs_approval),
  ]
}

const RULE_HEAD = ['rule', 'effect', 'matched', 'denied', 'limited', 'needs approval', 'USD']

function ruleRow(rule: BacktestResult['rules'][number]): readonly string[] {
  const { denied, limited, needs_approval: asked } = rule
  const numbers = [rule.matched, denied.requests, limited.requests, asked.requests]
  return [rule.rule ?? '(default)', rule.effect, ...numbers.map(count), usd(denied.usd + limited.usd + asked.usd)]
}

function caseRow({ at, id, verdict, rules, usd: value }: BacktestResult['largest'][number]): readonly string[] {
  const names = rules.map((rule) => rule ?? '(default)').join(', ')
  return [at, id, verdict.replace('_', ' '), names, value === null ? 'unknown' : usd(value)]
}

function count(n: number): string {
  return n.toLocaleString('en-US')
}

function usd(millionths: bigint): string {
  return formatAmount(millionths, USD_DECIMALS)
}
