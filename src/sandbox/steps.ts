/** Prints the progress of the start: a tick and a time for each step, on a terminal and in a log. */
import { printText } from '../cli/printed.ts'

/** Runs one step and prints its duration. @throws errors of the task, after printing the step's name */
export async function step<T>(name: string, task: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const line = (mark: string) =>
    `  ${mark} ${name.padEnd(44)} ${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s\n`
  try {
    const result = await task()
    printText(process.stdout, line('✓'))
    return result
  } catch (error) {
    printText(process.stdout, line('✗'))
    throw error
  }
}
