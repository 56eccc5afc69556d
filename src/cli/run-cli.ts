/** Parses a command line, runs its command, and turns an error into one line and an exit code. */

import type { WriteStream } from 'node:tty'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { BursarError, DirectoryHangs, InvalidSetting, NotFound, Unavailable, ValidationFailed } from '../core/errors.ts'
import { isConnectionFailure, isForbidden } from '../event-log/database-errors.ts'
import {
  BadInput,
  type CliCommand,
  type CliIo,
  type CliOption,
  type CliOptions,
  type CliProgram,
  type ExitCode,
} from './command.ts'
import { exitAfter } from './exit-after.ts'
import { paintFor, printFailure, printJson, printLine, printText, streamOfJson } from './printed.ts'
import { showProgress } from './progress.ts'
import { toTable } from './table.ts'

const EXIT_CODES = `
Exit codes: 0 success, no problem found · 1 a problem was found, or the request was refused · 2 wrong usage or input ·
            3 a dependency does not answer`

export type CliSettings = CliProgram & {
  readonly out: WriteStream
  readonly err: WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a program with the arguments and streams of this process, and sets its exit code. An unexpected error is printed
 * with its stack and ends the process with 1. A directory that hangs ends it with SIGKILL, after one line.
 */
export async function runProgram(
  program: CliProgram,
  process: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'env' | 'argv' | 'exitCode' | 'exit'>,
): Promise<void> {
  const { stdout: out, stderr: err, env, argv } = process
  try {
    const { code, failure } = await runLine({ ...program, out, err, env }, argv.slice(2))
    if (failure instanceof DirectoryHangs) exitAfter(failure)
    process.exitCode = code
  } catch (error) {
    printFailure(err, error)
    process.exit(1)
  }
}

/** Runs one command line. An invalid command line prints one line on `err`. */
export async function runCli(settings: CliSettings, args: readonly string[]): Promise<ExitCode> {
  return (await runLine(settings, args)).code
}

type Ended = {
  readonly code: ExitCode
  /** Whose line was printed. */
  readonly failure: unknown
}

async function runLine(settings: CliSettings, args: readonly string[]): Promise<Ended> {
  let code: ExitCode = 0
  const program = createProgram(settings, async (run) => {
    code = await run()
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return { code, failure: null }
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, failure: error }
    const failed = exitCodeOf(error, settings)
    if (failed === undefined) throw error
    printLine(settings.err, errorLine(settings, messageOf(error)))
    return { code: failed, failure: error }
  }
}

function messageOf(error: unknown): string {
  const { message } = error as Error
  return isForbidden(error) ? `${message}: run this command with the database user of the operator` : message
}

function errorLine({ errorLine: rewrite }: CliProgram, message: string): string {
  const line = message.trim().replaceAll(/\s*\n\s*/g, ' ')
  return rewrite === undefined ? line : rewrite(line)
}

type Finish = (run: () => Promise<ExitCode>) => Promise<void>

function createProgram(settings: CliSettings, finish: Finish): Command {
  const { out, err } = settings
  const program = new Command(`npm run ${settings.name} --`)
    .description(settings.description)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => printText(out, text),
      writeErr: (text) => printText(err, text),
      outputError: (text) =>
        printLine(err, `${errorLine(settings, text.replace(/^error: /, ''))} (add --help for usage)`),
    })
    .addHelpText('after', EXIT_CODES)
  const groups = new Map<string, Command>()
  for (const command of settings.commands) {
    const [first = '', second] = command.name.split(' ')
    const parent = second === undefined ? program : groupOf(program, groups, first)
    const added = addCommand(parent, second ?? first, command, settings, finish)
    // A command may have subcommands that follow it: `webhooks`, `webhooks listen`.
    if (second === undefined) groups.set(first, added)
  }
  return program
}

function groupOf(program: Command, groups: Map<string, Command>, name: string): Command {
  const known = groups.get(name)
  if (known !== undefined) return known
  const group = program.command(name).description(`this command has subcommands: ${name} --help`)
  groups.set(name, group)
  return group
}

function addCommand(
  parent: Command,
  word: string,
  command: CliCommand,
  settings: CliSettings,
  finish: Finish,
): Command {
  const added = parent.command(word).description(command.summary).option('--json', 'print one line of JSON')
  for (const { name, description } of command.arguments ?? []) added.argument(name, description)
  for (const option of command.options ?? []) added.addOption(toOption(option))
  added.addHelpText('after', `${command.details === undefined ? '' : `\n${command.details}\n`}${EXIT_CODES}`)
  added.action(() =>
    finish(() => {
      const { json, ...options } = added.opts() as CliOptions
      return command.run(
        { arguments: added.processedArgs as (string | undefined)[], options },
        ioOf(settings, json === true),
      )
    }),
  )
  return added
}

function toOption({ flags, description, required, repeatable, choices }: CliOption): Option {
  const remarks = [...(required ? ['required'] : []), ...(repeatable ? ['may be repeated'] : [])]
  const option = new Option(flags, remarks.length === 0 ? description : `${description} (${remarks.join(', ')})`)
  option.makeOptionMandatory(required === true)
  if (choices !== undefined) return option.choices(choices)
  if (option.isBoolean()) return option
  return option.argParser<string | readonly string[]>((value, earlier = []) => {
    // Otherwise `--out --force` would write to a directory named `--force`.
    if (value.startsWith('--') || (required && value === '')) throw new InvalidArgumentError('The value is missing.')
    return repeatable ? [...earlier, value] : value
  })
}

function ioOf({ out, err, env }: CliSettings, json: boolean): CliIo {
  return {
    json,
    print: (value, text) => (json ? printJson(out, value) : printText(out, text)),
    note: (text) => printLine(err, text),
    stdout: streamOfJson(out),
    progress: (shown) => showProgress(err, shown),
    table: toTable,
    paint: paintFor(out.isTTY === true && !json && !env.NO_COLOR),
  }
}

/** `undefined` for an unexpected error: it is printed with its stack. */
function exitCodeOf(error: unknown, { refused = 2 }: CliProgram): ExitCode | undefined {
  if (error instanceof ValidationFailed || error instanceof NotFound) return refused
  if (error instanceof BadInput || error instanceof InvalidSetting) return 2
  if (error instanceof Unavailable || isConnectionFailure(error)) return 3
  if (error instanceof BursarError || isOfSystem(error) || isForbidden(error)) return 1
  return undefined
}

/** No such file, no space, no permission: the message of the system is enough. */
function isOfSystem(error: unknown): error is { readonly syscall: string } {
  return error instanceof Error && 'syscall' in error && typeof error.syscall === 'string'
}
