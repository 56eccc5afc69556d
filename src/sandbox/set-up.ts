/** The process that set-up-process.ts starts: runs the tasks that its parent sends, and ends with it. */
import type { SetUpReply, SetUpRequest } from './set-up-process.ts'
import { SET_UP_TASKS } from './set-up-tasks.ts'

process.on('disconnect', () => process.exit(0))
process.on('message', (request: SetUpRequest) => void answer(request))

async function answer({ id, task, args }: SetUpRequest): Promise<void> {
  const run = SET_UP_TASKS[task] as (...args: readonly unknown[]) => Promise<unknown>
  const reply = await run(...args).then(
    (value): SetUpReply => ({ id, ok: true, value }),
    (error: unknown): SetUpReply => ({ id, ok: false, error: asError(error) }),
  )
  process.send?.(reply)
}

/** Without the further fields of the error, which may be of any kind. */
function asError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const plain = new Error(error.message)
  if (error.stack !== undefined) plain.stack = error.stack
  return plain
}
