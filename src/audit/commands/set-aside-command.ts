/** `audit set-aside`: takes the effect of one bad event away, by an event with a reason. Nothing is deleted. */
import { BadInput, type CliCommand, type ExitCode, type Within } from '../../cli/command.ts'
import { textOf } from '../../cli/option-values.ts'
import { shownText } from '../../cli/printed.ts'
import { type EventName, eventIdOf, parseEventId } from '../../core/event-ids.ts'
import type { EventLog } from '../../event-log/log.ts'
import { SET_ASIDE_STREAM } from '../../event-log/set-aside.ts'
import { setAsideAggregate } from '../set-aside/aggregate.ts'
import type { JudgedEvent } from '../set-aside/judge-event.ts'

const MOST_CHARACTERS = 500

const OUTCOMES: Readonly<Record<JudgedEvent['stream'], string>> = {
  goes_on: 'Its stream goes on without it.',
  end: 'Its stream keeps the state before it, and nothing can be added to it any more.',
  hold: 'Its stream keeps the state before it and stays held: nothing is signed for it, because a signature may be hidden there.',
}

export function setAsideCommand(
  within: Within<{
    readonly log: Pick<EventLog, 'execute' | 'now'>
    /** @throws NotFound; Conflict for an event that is good */
    readonly judgeEvent: (name: EventName) => Promise<JudgedEvent>
  }>,
): CliCommand {
  return {
    name: 'audit set-aside',
    summary: 'set one bad event aside, with a reason: it stays in the log and has no effect',
    details:
      'Only an event that is in fact bad can be set aside: one with a wrong hash or version, of a type or schema version that this\n' +
      'version of Bursar does not know, or with data that it cannot read. audit verify names it. The command appends EventSetAside to\n' +
      'the log. A stream of transactions, signatures, vouchers or exports stays held, one of a wallet or a key ends before the event;\n' +
      'every other stream goes on behind it. Afterwards: replay --diff, and rebuild the read models that it names.\n\n' +
      'Example: audit set-aside evt_balance-wal_0197….17 --reason "incident 12: appended with a stolen login"',
    arguments: [{ name: '<event_id>', description: 'id of the event: evt_<stream>.<version>' }],
    options: [
      { flags: '--reason <text>', description: `why, up to ${MOST_CHARACTERS} characters; required` },
      { flags: '--by <name>', description: 'who decided it; the default is operator' },
    ],
    run: ({ arguments: [eventId = ''], options }, io) => {
      const name = parseEventId(eventId)
      if (name === undefined)
        throw new BadInput(`${JSON.stringify(eventId)} is not the id of an event: it must be evt_<stream>.<version>.`)
      const [reason, by] = [requireText('--reason', textOf(options.reason)), textOf(options.by) ?? 'operator']
      requireText('--by', by)
      return within<ExitCode>(async ({ log, judgeEvent }) => {
        const { stream, ...judged } = await judgeEvent(name)
        const command = { type: 'SetAside', ...judged, reason, by, setAsideAt: log.now() } as const
        const id = SET_ASIDE_STREAM.slice(setAsideAggregate.category.length + 1)
        await log.execute(setAsideAggregate, id, command, { metadata: { tenantId: 'system', actor: 'operator' } })
        const text = `${shownText(eventIdOf(name))} is set aside. ${shownText(judged.problem)}\n${OUTCOMES[stream]}\n`
        io.print({ event_id: eventId, problem: judged.problem, stream, reason, by }, text)
        io.note('Compare the read models with the log: npm run bursar -- replay --diff')
        return 0
      })
    },
  }
}

function requireText(option: string, text: string | undefined): string {
  if (text !== undefined && text.trim() !== '' && text.length <= MOST_CHARACTERS) return text
  throw new BadInput(`${option} must be a text of 1 to ${MOST_CHARACTERS} characters.`)
}
