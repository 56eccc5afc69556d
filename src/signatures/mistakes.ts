/** Gathers everything that is wrong with a request, so that a caller is told all of it at once. */
import { closest } from '../core/closest.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'

/** More help nobody. */
const MAX_MISTAKES = 100
/** A suggestion costs as much as the names that it is sought among. */
const MAX_CANDIDATES = 32

export type Path = readonly (string | number)[]

export type Mistakes = {
  /** @param rule goes on after the field: `must be true or false` */
  readonly note: (path: Path, code: string, rule: string) => void
  /** True when no more are gathered: reading on is of no use. */
  readonly isFull: () => boolean
  /** Runs a reader that refuses by throwing, and notes what it refuses: `undefined` then. */
  readonly attempt: <T>(read: () => T) => T | undefined
  /** @throws ValidationFailed when anything was noted */
  readonly settle: () => void
}

export function createMistakes(): Mistakes {
  const items: Omit<ErrorItem, 'type'>[] = []
  const isFull = () => items.length >= MAX_MISTAKES
  return {
    isFull,
    note(path, code, rule) {
      if (isFull()) return
      const field = fieldPath(path)
      items.push({ field, code, message: `${field} ${rule}.` })
    },
    attempt(read) {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof ValidationFailed)) throw error
        if (!isFull()) items.push(...error.items)
        return undefined
      }
    },
    settle() {
      if (items.length > 0) throw new ValidationFailed(items)
    },
  }
}

/** What a misspelt name is to become: the known one that was likely meant, or the advice for one that is no slip. */
export function adviceFor(name: string, known: readonly string[], otherwise: string): string {
  const meant = known.length > MAX_CANDIDATES ? undefined : closest(name, known)
  return meant === undefined ? otherwise : `did you mean ${meant}?`
}
