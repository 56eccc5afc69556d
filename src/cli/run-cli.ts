/** Parses a command line, runs its command, and turns an error into one line and an exit code. */

import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { Command, CommanderError } from 'commander'
import { BursarError, NotFound, Unavailable, ValidationFailed } from '../core/errors.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { BadInput, type CliCommand, type CliIo, type ExitCode, type Paint } from './command.ts'
import { createProgress } from './progress.ts'
import { toTable } from './table.ts'

const EXIT_CODES = `
Exit codes: 0 success, no problem found · 1 a problem was found, or refused · 2 wrong usage or input ·
            3 a dependency does not answer`
const COLOURS = ['bold', 'dim', 'red', 'green', 'yellow'] as const

export type CliSettings = {
  /** How the program is called: `npm run bursar --`. */
  readonly name: string
  readonly description: string
  readonly commands: readonly CliCommand[]
  readonly out: WriteStream
  readonly err: WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs one command line. An invalid command line prints one line on `err`. */
export async function runCli(settings: CliSettings, args: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = 0
  const program = createProgram(settings, async (run) => {
    code = await run()
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const failed = exitCodeOf(error)
    if (failed === undefined) throw error
    settings.err.write(`${(error as Error).message.replaceAll(/\s*\n\s*/g, ' ')}\n`)
    return failed
  }
}

type Finish = (run: () => Promise<ExitCode>) => Promise<void>

function createProgram(settings: CliSettings, finish: Finish): Command {
  const { out, err } = settings
  const program = new Command(settings.name)
    .description(settings.description)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void out.write(text), writeErr: (text) => void err.write(text) })
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('(add --help for usage)')
  const groups = new Map<string, Command>()
  for (const command of settings.commands) {
    const [first = '', second] = command.name.split(' ')
    const parent = second === undefined ? program : groupOf(program, groups, first)
    addCommand(parent, second ?? first, command, settings, finish)
  }
  return program
}

function groupOf(program: Command, groups: Map<string, Command>, name: string): Command {
  const known = groups.get(name)
  if (known !== undefined) return known
  const group = program.command(name).description(`several commands: ${name} --help`)
  groups.set(name, group)
  return group
}

function addCommand(parent: Command, word: string, command: CliCommand, settings: CliSettings, finish: Finish): void {
  const added = parent.command(word).description(command.summary).option('--json', 'print one line of JSON')
  for (const { name, description } of command.arguments ?? []) added.argument(name, description)
  for (const { flags, description } of command.options ?? []) added.option(flags, description)
  added.addHelpText('after', `${command.details === undefined ? '' : `\n${command.details}\n`}${EXIT_CODES}`)
  added.action(() =>
    finish(() => {
      const { json, ...options } = added.opts() as Record<string, string | boolean | undefined>
      return command.run(
        { arguments: added.processedArgs as (string | undefined)[], options },
        ioOf(settings, json === true),
      )
    }),
  )
}

function ioOf({ out, err, env }: CliSettings, json: boolean): CliIo {
  return {
    json,
    print: (value, text) => void out.write(json ? `${JSON.stringify(value)}\n` : text),
    note: (text) => void err.write(`${text}\n`),
    stdout: out,
    progress: (shown) => createProgress(err, shown),
    table: toTable,
    paint: paintFor(out.isTTY === true && !json && !env.NO_COLOR),
  }
}

/** https://no-color.org */
function paintFor(coloured: boolean): Paint {
  return Object.fromEntries(
    COLOURS.map((colour) => [
      colour,
      (text: string) => (coloured ? styleText(colour, text, { validateStream: false }) : text),
    ]),
  ) as Paint
}

/** `undefined` for an unexpected error: it is printed with its stack. */
function exitCodeOf(error: unknown): ExitCode | undefined {
  if (error instanceof BadInput || error instanceof ValidationFailed || error instanceof NotFound) return 2
  // Files before sockets: both report ENOENT, for a missing file and for a socket that nobody listens on.
  if (isOfFiles(error)) return 1
  if (error instanceof Unavailable || isConnectionFailure(error)) return 3
  if (error instanceof BursarError) return 1
  return undefined
}

/** No such file, no space, no permission: the system's message names the path and is enough. */
function isOfFiles(error: unknown): boolean {
  const { syscall, path } = error as { syscall?: unknown; path?: unknown }
  return typeof syscall === 'string' && syscall !== 'connect' && typeof path === 'string'
}
