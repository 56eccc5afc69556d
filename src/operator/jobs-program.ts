/** `npm run jobs`: counts jobs, lists failed ones and queues them again. */
import { BadInput, type CliCommand, type CliProgram, type Within } from '../cli/command.ts'
import { limitOf } from '../cli/option-values.ts'
import { shown } from '../cli/printed.ts'
import type { QueueName } from '../core/registry.ts'
import { type FailedJob, type Jobs, queueNames } from '../jobs/jobs.ts'

export type JobsPort = Pick<Jobs, 'counts' | 'failed' | 'retry' | 'retryAll'>

const LIMIT = { byDefault: 20, most: 9_999 }

/** @param queues every queue */
export function jobsProgram(within: Within<JobsPort>, queues: readonly QueueName[]): CliProgram {
  return {
    name: 'jobs',
    description: 'Counts jobs, lists failed ones and queues them again.',
    commands: [countsCommand(within), failedCommand(within, queues), retryCommand(within, queues)],
  }
}

function countsCommand(within: Within<JobsPort>): CliCommand {
  return {
    name: 'counts',
    summary: 'count the jobs of each queue by state',
    run: async (_input, io) => {
      const counts = await within((jobs) => jobs.counts())
      const rows = queueNames(counts).map((name) => {
        const { waiting, active, delayed, failed } = counts[name]
        return [name, ...[waiting, active, delayed, failed].map(String)]
      })
      io.print(counts, io.table(['queue', 'waiting', 'active', 'delayed', 'failed'], rows))
      return 0
    },
  }
}

type FailedInQueue = FailedJob & { readonly queue: QueueName }

function failedCommand(within: Within<JobsPort>, queues: readonly QueueName[]): CliCommand {
  return {
    name: 'failed',
    summary: 'list failed jobs, newest first',
    details: listOf(queues),
    arguments: [{ name: '[queue]', description: 'only the jobs of this queue' }],
    options: [{ flags: '--limit <number>', description: `how many of each queue (default ${LIMIT.byDefault})` }],
    run: async ({ arguments: [queue], options }, io) => {
      const limit = limitOf(options.limit, LIMIT)
      const names = queue === undefined ? queues : [queueName(queues, queue)]
      const found = await within(async (jobs) => {
        const each: FailedInQueue[] = []
        for (const name of names) {
          for (const job of await jobs.failed(name, { limit })) each.push({ queue: name, ...job })
        }
        return each
      })
      io.print(found, found.length === 0 ? 'no failed jobs\n' : shown(found).map(describe).join(''))
      return 0
    },
  }
}

function describe({ queue, id, attempts, times, failedAt, reason, at }: FailedInQueue): string {
  const head = `${queue} ${id}  ${new Date(failedAt).toISOString()}  attempts ${attempts}, failed ${times} times`
  return `${[head, `  ${reason}`, ...(at === null ? [] : [`  ${at}`])].join('\n')}\n`
}

function retryCommand(within: Within<JobsPort>, queues: readonly QueueName[]): CliCommand {
  return {
    name: 'retry',
    summary: 'queue one or all failed jobs of a queue again, with all attempts',
    details: `Exit code 1: there is no such failed job.\n\n${listOf(queues)}`,
    arguments: [
      { name: '<queue>', description: 'the queue of the job' },
      { name: '[id]', description: 'the id of the job, as failed shows it' },
    ],
    options: [{ flags: '--all', description: 'all failed jobs of the queue' }],
    run: async ({ arguments: [name = '', id], options }, io) => {
      const queue = queueName(queues, name)
      if ((id === undefined) !== (options.all === true)) throw new BadInput('retry needs either an id or --all')
      const retried = await within((jobs) =>
        id === undefined ? jobs.retryAll(queue) : jobs.retry(queue, id).then(Number),
      )
      io.print({ queue, retried }, `${retried} queued again\n`)
      return retried === 0 && id !== undefined ? 1 : 0
    },
  }
}

function listOf(queues: readonly QueueName[]): string {
  return `Queues: ${queues.join(', ')}`
}

function queueName(queues: readonly QueueName[], text: string): QueueName {
  const found = queues.find((queue) => queue === text)
  if (found !== undefined) return found
  throw new BadInput(`unknown queue: ${text}. Use one of: ${queues.join(', ')}`)
}
