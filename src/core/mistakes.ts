/** Collects all problems of a request, so that a caller gets them at once. */
import { closest } from './closest.ts'
import { type ErrorItem, ValidationFailed } from './errors.ts'
import { fieldPath } from './field-path.ts'

/** More are not useful. */
const MAX_MISTAKES = 100
/** A suggestion costs as much as the number of candidate names. */
const MAX_CANDIDATES = 32

export type Path = readonly (string | number)[]

export type Mistakes = {
  /** @param rule a phrase after the field: `must be true or false` */
  readonly note: (path: Path, code: string, rule: string) => void
  /** True when no more problems are collected: the caller can stop. */
  readonly isFull: () => boolean
  /** Runs a function that refuses by throwing, and collects its errors; returns `undefined` then. */
  readonly attempt: <T>(read: () => T) => T | undefined
  /** @throws ValidationFailed when there are problems */
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

/** Advice for an unknown name: the likely intended one, or general advice if none is similar. */
export function adviceFor(name: string, known: readonly string[], otherwise: string): string {
  const meant = known.length > MAX_CANDIDATES ? undefined : closest(name, known)
  return meant === undefined ? otherwise : `did you mean ${meant}?`
}
