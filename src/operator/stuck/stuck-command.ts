/** `stuck`: everything that has not progressed for too long, with the next step for each. */
import type { CliCommand, ExitCode, Paint, Within } from '../../cli/command.ts'
import { shown } from '../../cli/printed.ts'
import type { Catalogue } from '../../core/registry.ts'
import { type Finding, findingJson } from '../finding.ts'
import { limitsOf } from '../limits.ts'
import type { OperatorContext } from '../operator-context.ts'
import { count, duration } from '../words.ts'
import { isOutage, judge } from './judge.ts'
import { readFacts } from './read-facts.ts'

const detailsOf = (
  kinds: Catalogue['findings'],
) => `Reads only. Exit code 0: nothing is stuck; 1: something is; 3: the database, the queue or a node does not answer; the
output has everything that could be read without it.

JSON: {"stuck": boolean, "findings": [{"kind", "subject", "problem", "for_ms", "next": [{"say", "run"}]}]}. Kinds:
${Object.entries(kinds)
  .map(([kind, meaning]) => `  ${kind.padEnd(20)} ${meaning}`)
  .join('\n')}`

export function stuckCommand(within: Within<OperatorContext>, kinds: Catalogue['findings']): CliCommand {
  return {
    name: 'stuck',
    summary: 'what is stuck or needs attention, and what to do about it',
    details: detailsOf(kinds),
    run: (_input, io) =>
      within(async (ports): Promise<ExitCode> => {
        const { parties, queueBackend } = ports
        const context = { parties, queueBackend, limits: limitsOf(ports.config), nowMs: ports.clock() }
        const findings = judge(await readFacts(ports), context)
        io.print({ stuck: findings.length > 0, findings: findings.map(findingJson) }, toText(shown(findings), io.paint))
        const outages = findings.filter(isOutage)
        for (const { problem } of outages) io.note(problem)
        return outages.length > 0 ? 3 : findings.length > 0 ? 1 : 0
      }),
  }
}

function toText(findings: readonly Finding[], paint: Paint): string {
  if (findings.length === 0) return `${paint.green('nothing is stuck')}\n`
  const parts = findings.map((finding, index) => describeFinding(finding, paint, `${index + 1}. `))
  return `${paint.red(count(findings.length, 'finding'))}\n\n${parts.join('\n')}`
}

/** A finding and its next steps, as lines. */
export function describeFinding({ kind, subject, problem, forMs, next }: Finding, paint: Paint, before = ''): string {
  const since = forMs === null ? '' : paint.dim(` for ${duration(forMs)}`)
  const steps = next.flatMap(({ say, run }) => [`   → ${say}`, ...(run === null ? [] : [`     ${paint.bold(run)}`])])
  return `${[`${before}${paint.yellow(kind)} · ${subject}${since}`, `   ${problem}`, ...steps].join('\n')}\n`
}
