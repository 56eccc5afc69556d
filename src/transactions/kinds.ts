/**
 * The kinds of transactions of this program, by the event that opens one, the resources that they can belong to, and the
 * parts of their intents. Capabilities declare them, and `src/declarations.ts`, which lists all capabilities, names them here
 * when it is loaded: transactions know no capability. From then on they are constants of the program.
 *
 * Invariant: no module reads them while it is loaded.
 */
import type { OpeningDeclaration } from '../core/declaration.ts'
import type { Opening, SubjectType, TransactionType } from '../core/registry.ts'

export type Kinds = Readonly<Record<Opening, OpeningDeclaration<TransactionType>>>
type Named = {
  readonly kinds: Kinds
  readonly subjects: readonly SubjectType[]
  /** Names of parts of intents. */
  readonly parts: readonly string[]
}

let named: Named | null = null

/** @throws Error if others were named before */
export function nameKinds(kinds: Kinds, subjects: readonly SubjectType[], parts: readonly string[]): void {
  if (named !== null) throw new Error('the kinds of transactions are named once')
  named = { kinds, subjects, parts }
}

/** @throws Error before `src/declarations.ts` is loaded; the functions below too */
export function kindsOfTransactions(): Kinds {
  return requireNamed().kinds
}

/** Types of resources that a transaction can belong to. */
export function subjectsOfTransactions(): readonly SubjectType[] {
  return requireNamed().subjects
}

/** Names of what capabilities record of their transactions; each is a column of their rows too. */
export function partNames(): readonly string[] {
  return requireNamed().parts
}

/** Whether an event of this type opens a transaction. */
export function opens(type: string): type is Opening {
  return Object.hasOwn(kindsOfTransactions(), type)
}

/** Whether the logs of the receipt of a transaction of this type are recorded when it is mined. */
export function keepsLogs(type: TransactionType): boolean {
  return Object.values(kindsOfTransactions()).some((kind) => kind.type === type && kind.keepsLogs === true)
}

/** Whether no policy judges a transaction that this event opens. */
export function isUnjudged(opening: Opening): boolean {
  return kindsOfTransactions()[opening]?.isUnjudged === true
}

/** Types of transactions that may take assets besides their own. */
export function typesTakingMore(): readonly TransactionType[] {
  return Object.values(kindsOfTransactions()).flatMap(({ type, takesMore }) => (takesMore === true ? [type] : []))
}

function requireNamed(): Named {
  if (named === null) throw new Error('no kinds of transactions are named: import src/declarations.ts')
  return named
}
