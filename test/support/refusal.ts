/** The public form of a refusal. */
import { BursarError, type ErrorItem } from '../../src/core/errors.ts'

/** The first error item; null when nothing was refused. */
export function refusal(act: () => unknown): ErrorItem | null {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof BursarError) return error.items[0] ?? null
    throw error
  }
}
