/** `queues`: waiting jobs in the queues of either back end, their age, and failed jobs. */
import type { CliCommand, Within } from '../cli/command.ts'
import { shown } from '../cli/printed.ts'
import { type FailedJob, type OldestJob, queueNames } from '../jobs/jobs.ts'
import type { OperatorContext } from './operator-context.ts'
import { count, duration } from './words.ts'

const FAILED_SHOWN = 3

export function queuesCommand(within: Within<OperatorContext>): CliCommand {
  return {
    name: 'queues',
    summary: 'the job queues: counts, the oldest job, failed jobs',
    details: `Reads only. Exit code 0: no failed jobs; 1: some jobs failed; 3: the queue does not answer. \`npm run jobs\` queues failed jobs again.

JSON: {"backend", "queues": [{"queue", "waiting", "active", "delayed", "failed", "oldest": {"id", "state", "age_ms", "attempts"} or null,
"newest_failed": [{"id", "reason", "at", "failed_at", "attempts", "times"}]}]}.`,
    run: (_input, io) =>
      within(async ({ jobs, queueBackend, clock }) => {
        const now = clock()
        const counts = await jobs.counts()
        const queues = await Promise.all(
          queueNames(counts).map(async (queue) => {
            const isEmpty = counts[queue].waiting + counts[queue].active + counts[queue].delayed === 0
            const oldest = isEmpty ? null : await jobs.oldest(queue)
            const failed = counts[queue].failed === 0 ? [] : await jobs.failed(queue, { limit: FAILED_SHOWN })
            return {
              queue,
              ...counts[queue],
              oldest: oldest && oldestJson(oldest, now),
              newest_failed: failed.map(failedJson),
            }
          }),
        )
        const rows = shown(queues).map(({ queue, waiting, active, delayed, failed, oldest }) => [
          queue,
          ...[waiting, active, delayed, failed].map(String),
          oldest === null ? '-' : `${oldest.id}, ${oldest.state} for ${duration(oldest.age_ms)}`,
        ])
        const given = shown(queues).flatMap(({ queue, failed, newest_failed: newest }) =>
          newest.length === 0 ? [] : [describeFailed(queue, failed, newest)],
        )
        const table = io.table(['queue', 'waiting', 'active', 'delayed', 'failed', 'oldest'], rows)
        io.print({ backend: queueBackend, queues }, `queues on ${queueBackend}\n\n${table}${given.join('')}`)
        return given.length > 0 ? 1 : 0
      }),
  }
}

function oldestJson({ id, state, addedAt, attempts }: OldestJob, now: number) {
  return { id, state, age_ms: Math.max(0, now - addedAt), attempts }
}

function failedJson({ id, reason, at, failedAt, attempts, times }: FailedJob) {
  return { id, reason, at, failed_at: new Date(failedAt).toISOString(), attempts, times }
}

function describeFailed(queue: string, total: number, newest: readonly ReturnType<typeof failedJson>[]): string {
  const lines = newest.map(
    ({ id, reason, failed_at: at, attempts }) => `   ${id}  ${at}  tries ${attempts}: ${reason}\n`,
  )
  return (
    `\n${count(total, 'job')} of ${queue} failed permanently, the newest:\n${lines.join('')}` +
    `   → List all of them with their errors.\n     npm run jobs -- failed ${queue}\n` +
    `   → Fix the cause, then queue them again.\n     npm run jobs -- retry ${queue} --all\n`
  )
}
