/** What a command of `npm run bursar` is, and what it is handed. A capability declares its commands; `run-cli.ts` runs them. */
import type { Writable } from 'node:stream'

/**
 * What scripts may trust: 0 done, and nothing is wrong; 1 something was found (a difference, a bad event, a stuck lane) or what was
 * asked for cannot be done; 2 wrong usage or input, nothing was done; 3 a dependency does not answer, try again.
 */
export type ExitCode = 0 | 1 | 2 | 3

export type CliCommand = {
  /** One or two words: `replay`, `audit verify`. */
  readonly name: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** What else the help of this command says: what it reads, what it changes, examples, its exit codes. */
  readonly details?: string
  readonly arguments?: readonly {
    /** `<needed>` or `[optional]`. */
    readonly name: string
    readonly description: string
  }[]
  readonly options?: readonly {
    /** `--diff`, `--to <position|time>`. */
    readonly flags: string
    readonly description: string
  }[]
  readonly run: (input: CliInput, io: CliIo) => Promise<ExitCode>
}

export type CliInput = {
  /** In the order of the declaration; an optional one that was left out is `undefined`. */
  readonly arguments: readonly (string | undefined)[]
  /** By long name in camel case: `--from-block 3` is `fromBlock: '3'`; a flag without a value is `true`. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
}

export type CliIo = {
  /** Whether `--json` was given: then standard output holds JSON and nothing else. */
  readonly json: boolean
  /** Tells the result: `value` as one line of JSON with `--json`, else the text. */
  readonly print: (value: unknown, text: string) => void
  /** A note beside the result, on standard error. */
  readonly note: (text: string) => void
  /** Standard output itself, for what is too large for a string. Obey its back pressure. */
  readonly stdout: Writable
  readonly progress: (settings: ProgressSettings) => Progress
  /** Aligned columns without borders. */
  readonly table: (head: readonly string[], rows: readonly (readonly string[])[]) => string
  readonly paint: Paint
}

/** Colours where a person looks: as they are elsewhere. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>>

export type ProgressSettings = {
  /** What is counted, in the plural: `events`. */
  readonly unit: string
  /** How many there are; `null` when nobody knows. */
  readonly total: number | null
}

/** Long work as it goes: a bar on a terminal, lines now and then in a log. On standard error. */
export type Progress = {
  /** @param done how many of them are done by now */
  readonly at: (done: number) => void
  /** The bar goes; what follows is the result. */
  readonly end: () => void
}

/** Hands a task the parts that it needs, and closes them after it. */
export type Within<Ports> = <T>(task: (ports: Ports) => Promise<T>) => Promise<T>

/** What was typed cannot be meant: one line that names it, its rule and what to do. Exit code 2. */
export class BadInput extends Error {}
