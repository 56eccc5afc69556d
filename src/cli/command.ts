/**
 * The types of a command, of the context it runs in, and of a program of several commands. A capability declares its
 * commands; `run-cli.ts` runs them.
 */
import type { Writable } from 'node:stream'

/**
 * Exit codes that scripts can rely on. 0: done, no problem found. 1: a problem was found (a difference, a bad event, a
 * stuck lane), or the request cannot be carried out. 2: wrong usage or input, nothing was done. 3: a dependency does
 * not answer, try again.
 */
export type ExitCode = 0 | 1 | 2 | 3

export type CliCommand = {
  /** One or two words: `replay`, `audit verify`. */
  readonly name: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** The rest of this command's help: what it reads, what it changes, examples, its exit codes. */
  readonly details?: string
  readonly arguments?: readonly {
    /** `<needed>` or `[optional]`. */
    readonly name: string
    readonly description: string
  }[]
  readonly options?: readonly CliOption[]
  readonly run: (input: CliInput, io: CliIo) => Promise<ExitCode>
}

export type CliOption = {
  /** `--diff`, `--to <position|time>`. */
  readonly flags: string
  readonly description: string
  /** The command line is invalid without this option, or with an empty value of it. */
  readonly required?: true
  /** The option may be given several times; its value is a list. */
  readonly repeatable?: true
  /** The only valid values. */
  readonly choices?: readonly string[]
}

/** Commands with one name in `package.json`, and how they report errors. */
export type CliProgram = {
  /** The script: `bursar` is called as `npm run bursar --`. */
  readonly name: string
  readonly description: string
  readonly commands: readonly CliCommand[]
  /** The exit code when a use case refuses its input or finds no such resource; 2 by default. */
  readonly refused?: 1 | 2
  /** Rewrites each error line before it is printed, for example to remove secrets. */
  readonly errorLine?: (message: string) => string
}

export type CliInput = {
  /** In the order of the declaration; an omitted optional argument is `undefined`. */
  readonly arguments: readonly (string | undefined)[]
  /** By long name in camel case: `--from-block 3` becomes `fromBlock: '3'`; a flag without a value is `true`. */
  readonly options: CliOptions
}

export type CliOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

export type CliIo = {
  /** Whether `--json` was given: standard output then holds only JSON. */
  readonly json: boolean
  /**
   * Prints the result: `value` as one line of JSON with `--json`, else the text. Make the text from `shown` data: the
   * line feeds of a text are printed.
   */
  readonly print: (value: unknown, text: string) => void
  /** Prints a remark on standard error, as one line. */
  readonly note: (text: string) => void
  /** Standard output, for JSON that does not fit in a string. Wait for `drain` when a write returns false. */
  readonly stdout: Writable
  readonly progress: (settings: {
    /** The plural name of what is counted: `events`. */
    readonly unit: string
    /** The number expected; `null` when it is not known. */
    readonly total: number | null
  }) => Progress
  /** Aligned columns without borders. Each cell is one line, without colours. */
  readonly table: (head: readonly string[], rows: readonly (readonly string[])[]) => string
  readonly paint: Paint
}

/** Colour functions. They do nothing when the output is not a terminal or colours are disabled. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>>

/** Progress of long work on standard error: a bar on a terminal, occasional lines in a log. */
export type Progress = {
  /** @param done how many are done so far */
  readonly at: (done: number) => void
  /** Removes the bar, so that the result can be printed. */
  readonly end: () => void
}

/** Passes a task the ports it needs and closes them afterwards. */
export type Within<Ports> = <T>(task: (ports: Ports) => Promise<T>) => Promise<T>

/** The input is invalid: one line that names the argument, its rule and what to do. Exit code 2. */
export class BadInput extends Error {}
