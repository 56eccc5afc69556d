/** What capabilities give operators: commands of `npm run bursar`, and findings of `stuck`. */
import type { ApiContext } from '../api-context.ts'
import type { Capability } from '../capability.ts'
import type { CliCommand, Within } from '../cli/command.ts'
import type { Context } from '../context.ts'
import type { ProcessKind } from '../core/processes.ts'
import type { ChainNow } from './chain-now.ts'
import type { Finding } from './finding.ts'
import type { Limits } from './limits.ts'

/** What commands have. */
export interface CommandContext extends Context {
  /** Every capability, for commands that ask each of them. */
  readonly capabilities: readonly Capability[]
  /** For commands that do what a route does. */
  readonly api: () => ApiContext
}

/** How commands get it. A command that calls neither needs no database. */
export type Opens = {
  /** Refuses a database that does not fit this program. */
  readonly within: Within<CommandContext>
  /** For commands that only read: they report what is wrong with the database, and an outage in plain words. */
  readonly reporting: Within<CommandContext>
}

/** A command in the help: the smallest place is first, and of equal places the first of the list. */
export type InHelp = { readonly place: number; readonly command: CliCommand }

/** What findings are read from. */
export type FindingNeeds = Pick<Context, 'pool' | 'config'> & {
  /** Work that was requested later may still be in progress. */
  readonly before: Date
}

export type ProcessNow = {
  readonly process: string
  readonly instance: string
  readonly silentMs: number
  /** The problem in its last heartbeat. */
  readonly problem: string | null
}

/** What findings are judged with. */
export type ServiceNow = {
  readonly processes: readonly ProcessNow[]
  readonly chains: readonly ChainNow[]
  readonly limits: Limits
}

/** A process that reads the log for one capability. It leads under a lease with the name of its subscription. */
export type ReaderNow = {
  readonly process: ProcessKind
  /** Whether one must be running. */
  readonly isNeeded: boolean
  readonly subscription: string
  /** What delivers nothing new while readers of the log wait: `webhooks`. */
  readonly delivers: string
  /** Since the oldest event was recorded that it has not read. */
  readonly lagMs: number
}

export type ToldFacts = {
  readonly reader?: ReaderNow
  /** Pure. */
  readonly judge: (now: ServiceNow) => readonly Finding[]
}

export type FindingSource = {
  /** Orders what `stuck` prints, among the places in `stuck/judge.ts`. */
  readonly place: number
  readonly read: (needs: FindingNeeds) => Promise<ToldFacts>
}

declare module '../capability.ts' {
  interface Capability {
    /** Loaded by `npm run bursar` alone. */
    readonly forOperators?: () => Promise<{
      readonly commands?: (opens: Opens) => readonly InHelp[]
      readonly findings?: readonly FindingSource[]
    }>
  }
}
