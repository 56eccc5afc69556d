/**
 * Commits what was decided: one append for all of it, decided again after a concurrent write to one of its streams.
 *
 * Invariant: a list is appended to the states on which it was decided, or refused: what was signed for, sent or verified is
 * never decided again. Only a function is called again, and decides on what its streams are then.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Decision, HoldChange, ReadModelRow } from './aggregate.ts'
import { type Commit, type Guards, StreamConflict } from './append.ts'
import { isDataError } from './database-errors.ts'

/** An attempt that loses the race to another process each time fails after this many. */
const MAX_TRIES = 50
const LONGEST_PAUSE_MS = 40

/** For each stream what was decided; `null` where the command was already fulfilled. */
export type Decisions<State = unknown> = readonly (Decision<State> | null)[]

/** Decisions with rows that belong to no stream. */
export type Decided<State = unknown> =
  | Decisions<State>
  | { readonly decisions: Decisions<State>; readonly rows: readonly ReadModelRow[] }

/** Called for each decision that the database cannot store. This is a defect that must be investigated. */
export type OnUnstorable = (streamId: string, error: unknown) => void

type Conditions = Omit<Guards, 'idempotency'>

/**
 * @param decided a list, which is appended as it is; or a function that loads and decides, which is called again after a
 *   conflict: `isAgain` says that it is
 * @returns what was appended; nothing is appended when nothing was decided and there are no rows
 * @throws errors of the function and of `EventLog.append`; StreamConflict at once for a list, and after 50 attempts of a
 *   function
 */
export type CommitDecisions = {
  <State>(
    decided: Decided<State> | ((isAgain: boolean) => Promise<Decided<State>>),
    options?: Conditions & {
      /** Holds in addition to those of the decisions. */
      readonly holds?: readonly HoldChange[]
      readonly onUnstorable?: never
    },
  ): Promise<readonly Decision<State>[]>
  <State>(
    decided: Decisions<State> | ((isAgain: boolean) => Promise<Decisions<State>>),
    options: Conditions & {
      /**
       * Makes the decisions independent: one that the database cannot store (SQLSTATE class 22: text or a number out of range)
       * is left out, and the others are appended, perhaps in several appends. Without it they are one append, with the rows and
       * holds beside them.
       */
      readonly onUnstorable: OnUnstorable
      readonly holds?: never
    },
  ): Promise<readonly Decision<State>[]>
}

/**
 * `EventLog.commit`: a value, because it belongs to the append of its log. It keeps nothing.
 *
 * @param pause between two attempts; passed in where time is simulated
 */
export function createCommit(
  append: (commit: Commit) => Promise<void>,
  pause?: (() => Promise<void>) | undefined,
): CommitDecisions {
  return <State>(
    decided: Decided<State> | ((isAgain: boolean) => Promise<Decided<State>>),
    {
      holds,
      onUnstorable,
      ...guards
    }: Conditions & { readonly holds?: readonly HoldChange[]; readonly onUnstorable?: OnUnstorable } = {},
  ) => {
    const appendAll = async (all: Decided<State>): Promise<readonly Decision<State>[]> => {
      const { decisions, rows } = 'decisions' in all ? all : { decisions: all, rows: [] }
      const made = decisions.filter((one) => one !== null)
      if (onUnstorable !== undefined) return appendApart(append, { decisions: made, guards }, onUnstorable)
      if (made.length + rows.length > 0)
        await append({ decisions: made, rows, guards, ...(holds === undefined ? {} : { holds }) })
      return made
    }
    if (typeof decided !== 'function') return appendAll(decided)
    let isAgain = false
    return repeatOnConflict(
      async () => {
        const made = decided(isAgain)
        isAgain = true
        return appendAll(await made)
      },
      { pause },
    )
  }
}

/**
 * Appends a decision that another process may make too, of which one is enough.
 *
 * @returns whether it was appended: not if its stream was changed since it was loaded
 * @throws errors of `EventLog.append`, except StreamConflict
 */
export async function recordOnce(
  { commit }: { readonly commit: CommitDecisions },
  decision: Decision | null,
): Promise<boolean> {
  try {
    return (await commit([decision])).length > 0
  } catch (error) {
    if (!isStreamConflict(error)) throw error
    return false
  }
}

/** Halves what cannot be stored until it is one. */
async function appendApart<State>(
  append: (commit: Commit) => Promise<void>,
  { decisions, guards }: { readonly decisions: readonly Decision<State>[]; readonly guards: Guards },
  onUnstorable: OnUnstorable,
): Promise<readonly Decision<State>[]> {
  if (decisions.length === 0) return []
  try {
    await append({ decisions, guards })
    return decisions
  } catch (error) {
    if (!isDataError(error)) throw error
    const [only] = decisions
    if (decisions.length === 1) {
      onUnstorable(only?.events[0]?.streamId ?? '', error)
      return []
    }
  }
  const half = Math.ceil(decisions.length / 2)
  const first = await appendApart(append, { decisions: decisions.slice(0, half), guards }, onUnstorable)
  return [...first, ...(await appendApart(append, { decisions: decisions.slice(half), guards }, onUnstorable))]
}

/**
 * Repeats an attempt that appends in several steps after a conflict, with a short random pause: `commit` of a function
 * does the same for one append.
 *
 * @param attempt decides on the current state, and appends
 * @throws any other error of the attempt; after 50 attempts the conflict itself
 */
export async function repeatOnConflict<T>(
  attempt: () => Promise<T>,
  {
    isConflict = isStreamConflict,
    pause = pauseAtRandom,
  }: {
    /** Whether to repeat after this error; by default after StreamConflict. */
    readonly isConflict?: ((error: unknown) => boolean) | undefined
    /** Passed in where time is simulated; by default a random time of up to 40 ms. */
    readonly pause?: (() => Promise<void>) | undefined
  } = {},
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error) || tries >= MAX_TRIES) throw error
      await pause()
    }
  }
}

function pauseAtRandom(): Promise<void> {
  return sleep(Math.random() * LONGEST_PAUSE_MS)
}

export function isStreamConflict(error: unknown): boolean {
  return error instanceof StreamConflict
}
